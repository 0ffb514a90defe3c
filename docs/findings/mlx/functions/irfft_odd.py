"""Forward mode of mx.fft.irfft of odd length. It is linear: its derivative along v is irfft(v) of that length.

Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    print("this script needs mlx")
    sys.exit(125)

wrong = False
for x, v, length in (([3.0], [2.0], 1), ([3.0, 1.0], [2.0, 0.5], 3)):
    expected = mx.fft.irfft(mx.array(v), length).tolist()
    try:
        got = mx.jvp(lambda x, n=length: mx.fft.irfft(x, n), [mx.array(x)], [mx.array(v)])[1][0].tolist()
    except ValueError as error:
        got = str(error)
    print(f"length {length}: expected {expected}, got {got}")
    wrong = wrong or got != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
