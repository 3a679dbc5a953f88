/*
 * The way in: Xen, or QEMU, starts a PVH kernel at the address of its ELF note, in 32-bit protected mode
 * without paging, with the address of struct start_info in ebx. Below that: traps, and the switch between
 * threads.
 */

/* ELF note XEN_ELFNOTE_PHYS32_ENTRY: sizes of name and value, number of the note, name, value. */
	.section .note.Xen, "a", @note
	.balign 4
	.long 4, 8, 18
	.asciz "Xen"
	.quad start32

/* Page tables: the first 4 GiB, each address at itself. Page 0 is absent, so that NULL faults. */
	.section .bss
	.balign 4096
pml4:	.skip 4096
pdpt:	.skip 4096
pd:	.skip 4 * 4096
pt:	.skip 4096		/* the first 2 MiB, in pages of 4 KiB */
boot_stack:
	.skip 16384
boot_stack_end:

	.section .data
	.balign 8
gdt:	.quad 0
	.quad 0x00af9b000000ffff	/* selector 8: code of 64 bits */
	.quad 0x00cf93000000ffff	/* selector 16: data */
gdt_register:
	.word gdt_register - gdt - 1
	.quad gdt

	.text
	.code32
	.global start32
start32:
	cld
	mov	$2047, %ecx		/* pages of 2 MiB: present, writable, large */
1:	mov	%ecx, %eax
	shl	$21, %eax
	or	$0x83, %eax
	mov	%eax, pd(, %ecx, 8)
	dec	%ecx
	jnz	1b
	mov	$511, %ecx		/* pages of 4 KiB: present, writable */
2:	mov	%ecx, %eax
	shl	$12, %eax
	or	$3, %eax
	mov	%eax, pt(, %ecx, 8)
	dec	%ecx
	jnz	2b
	movl	$pt + 3, pd
	movl	$pd + 3, pdpt
	movl	$pd + 4096 + 3, pdpt + 8
	movl	$pd + 2 * 4096 + 3, pdpt + 16
	movl	$pd + 3 * 4096 + 3, pdpt + 24
	movl	$pdpt + 3, pml4

	mov	%cr4, %eax		/* PAE */
	or	$0x20, %eax
	mov	%eax, %cr4
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$0xc0000080, %ecx	/* EFER: long mode */
	rdmsr
	or	$0x100, %eax
	wrmsr
	mov	%cr0, %eax		/* paging, protection */
	or	$0x80000001, %eax
	mov	%eax, %cr0
	lgdt	gdt_register
	ljmp	$8, $start64

	.code64
start64:
	mov	$16, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$boot_stack_end, %esp
	mov	%ebx, %edi
	call	kernel_main
	ud2

/*
 * Traps. Each stub pushes an error code, unless the processor has, and its number: traps 0 to 31 are the
 * processor's, 32 is Xen's upcall. trap_stubs has the addresses.
 */
	.macro	stub number
	.text
stub_\number:
	.if	!(\number == 8 || \number == 17 || (\number >= 10 && \number <= 14))
	push	$0
	.endif
	push	$\number
	jmp	trap_common
	.section .rodata
	.quad	stub_\number
	.endm

	.section .rodata
	.balign 8
	.global trap_stubs
trap_stubs:
	.altmacro
	.set	i, 0
	.rept	33
	stub	%i
	.set	i, i + 1
	.endr
	.noaltmacro

	.text
trap_common:
	.irp	register, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	push	%\register
	.endr
	mov	%rsp, %rdi
	cld
	call	trap
	.irp	register, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
	pop	%\register
	.endr
	add	$16, %rsp
	iretq

/* void thread_switch(void **save, void *load): save what C expects to be kept, and change stacks. */
	.global thread_switch
thread_switch:
	.irp	register, rbx, rbp, r12, r13, r14, r15
	push	%\register
	.endr
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	.irp	register, r15, r14, r13, r12, rbp, rbx
	pop	%\register
	.endr
	ret

	.section .note.GNU-stack, "", @progbits
