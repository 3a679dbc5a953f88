"""Make certificates with openssl. Shared by the tests of access control, of mprofctl from afar, and of tests/remote."""

import math
import os
import random
import subprocess

KEY_OPTIONS = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
CLIENT = ["extendedKeyUsage = clientAuth"]


def openssl(*arguments, **options):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise AssertionError(f"openssl {arguments}: {done.stderr}")


def authority(name, subject, *extensions):
    """Make an authority, or a certificate signed by itself: NAME.pem and NAME.key. NAME may be a path."""
    more = [word for line in extensions for word in ("-addext", line)]
    openssl("req", "-x509", *KEY_OPTIONS, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "30", "-subj", f"/CN={subject}", *more)


def certificate(name, subject, ca, *extensions, days=10, start=None, end=None):
    """Make NAME.pem and NAME.key, signed by CA; both may be paths. START and END are ASN.1 times."""
    openssl("req", *KEY_OPTIONS, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
    with open(f"{name}.ext", "w", encoding="utf-8") as f:
        f.write("basicConstraints = CA:FALSE\n" + "\n".join(extensions) + "\n")
    os.makedirs(f"{ca}.d", exist_ok=True)
    with open(f"{ca}.cnf", "w", encoding="utf-8") as f:
        f.write(
            f"[ca]\ndefault_ca = a\n[a]\ndatabase = {ca}.d/index\nserial = {ca}.d/serial\nnew_certs_dir = {ca}.d\n"
            f"certificate = {ca}.pem\nprivate_key = {ca}.key\ndefault_md = sha256\npolicy = p\nunique_subject = no\n"
            f"crlnumber = {ca}.d/crlnumber\ndefault_crl_days = 5\n[p]\ncommonName = optional\norganizationName = optional\n"
        )
    if not os.path.exists(f"{ca}.d/index"):
        for file, text in (("index", ""), ("serial", "1000\n"), ("crlnumber", "01\n")):
            with open(f"{ca}.d/{file}", "w", encoding="utf-8") as f:
                f.write(text)
    times = ["-startdate", start, "-enddate", end] if start else ["-days", str(days)]
    openssl("ca", "-batch", "-notext", "-config", f"{ca}.cnf", "-in", f"{name}.csr", "-out", f"{name}.pem", "-extfile", f"{name}.ext", *times)


def revoke(name, ca):
    """Revoke NAME.pem, and write the list CA.crl."""
    openssl("ca", "-config", f"{ca}.cnf", "-revoke", f"{name}.pem")
    revocations(ca)


def revocations(ca):
    openssl("ca", "-config", f"{ca}.cnf", "-gencrl", "-out", f"{ca}.crl.new")
    os.rename(f"{ca}.crl.new", f"{ca}.crl")


def is_prime(n):
    """Return whether N, an odd number, is probably a prime."""
    return all(n % p for p in range(3, 2000, 2)) and all(pow(a, n - 1, n) == 1 for a in (2, 3, 5))


def primes(count, bits):
    """Return COUNT different primes of BITS bits."""
    found = set()
    while len(found) < count:
        n = random.getrandbits(bits) | 3 << (bits - 2) | 1
        if is_prime(n):
            found.add(n)
    return sorted(found)


def der(tag, body):
    """Return the DER of one value."""
    size = len(body)
    if size < 128:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def costly_key(path, parts, bits, exponent=None):
    """Write an RSA key of 2 * PARTS * BITS bits, the product of many primes. Without EXPONENT its public
    exponent is as long as its modulus, so that it costs the server far more to check a signature than
    it costs the client to make it."""
    all_primes = primes(2 * parts, bits)
    p, q = math.prod(all_primes[:parts]), math.prod(all_primes[parts:])
    if p < q:
        p, q = q, p
    order = math.lcm(*[n - 1 for n in all_primes])
    d = pow(exponent, -1, order) if exponent else next(d for d in range(65537, 1 << 20, 2) if math.gcd(d, order) == 1)
    numbers = [0, p * q, exponent or pow(d, -1, order), d, p, q, d, d, pow(q, -1, p)]
    body = b"".join(der(2, n.to_bytes(n.bit_length() // 8 + 1, "big")) for n in numbers)
    subprocess.run(["openssl", "rsa", "-inform", "DER", "-out", path], input=der(0x30, body), capture_output=True, check=True)
