"""Unpack zstd's frames with the library that the daemons use, in this process: a program of its own would cost more than the test."""

import ctypes


class Buffer(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer, which have the same shape."""

    _fields_ = [("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]


LIBRARY = ctypes.CDLL("libzstd.so.1")
LIBRARY.ZSTD_createDStream.restype = ctypes.c_void_p
LIBRARY.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
LIBRARY.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.POINTER(Buffer)]
LIBRARY.ZSTD_decompressStream.restype = ctypes.c_size_t
LIBRARY.ZSTD_isError.argtypes = [ctypes.c_size_t]
LIBRARY.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
LIBRARY.ZSTD_getErrorName.restype = ctypes.c_char_p
STEP = 1 << 20


def unzstd(data):
    """Return the contents of the frames in DATA. Raise ValueError if a frame is not valid or not whole."""
    source = ctypes.create_string_buffer(data, len(data))
    room = ctypes.create_string_buffer(STEP)
    given = Buffer(ctypes.addressof(source), len(data), 0)
    contents, left = [], 0
    stream = LIBRARY.ZSTD_createDStream()
    try:
        while True:
            taken = Buffer(ctypes.addressof(room), STEP, 0)
            left = LIBRARY.ZSTD_decompressStream(stream, taken, given) if given.pos < given.size or left else 0
            if LIBRARY.ZSTD_isError(left):
                raise ValueError(f"at byte {given.pos} of {given.size}: {LIBRARY.ZSTD_getErrorName(left).decode()}")
            contents.append(room.raw[: taken.pos])
            if given.pos == given.size and taken.pos < STEP:
                break
    finally:
        LIBRARY.ZSTD_freeDStream(stream)
    if left:
        raise ValueError(f"the last frame of {given.size} bytes is not whole")
    return b"".join(contents)
