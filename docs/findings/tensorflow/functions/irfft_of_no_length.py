"""Fourier transforms of TensorFlow of the length 0 end the process, and the gradient of tf.signal.irfft2d of the length
(0, 0) raises.

An exception is due for the first two, as NumPy raises one. The third returns no entries, so that the gradient is 0.
The calls are made in processes of their own. Exits with 1 while one of them is ended by a signal, or raises for the third.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("tensorflow") is None:
    print("this script needs tensorflow")
    sys.exit(125)

ENDING = (
    "tf.signal.irfft(tf.ones([2], tf.complex64), [0])",
    "tf.signal.rfft(tf.ones([2]), [0])",
)
GRADIENT = """
x = tf.ones([1, 2], tf.float64)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.signal.irfft2d(tf.cast(x, tf.complex128), [0, 0])
print(y.shape, tape.gradient(y, x).numpy().tolist())
"""
wrong = False
for code in (*ENDING, GRADIENT):
    ended = subprocess.run([sys.executable, "-c", f"import tensorflow as tf\n{code}"], capture_output=True)
    bad = ended.returncode != 0 if code == GRADIENT else ended.returncode < 0
    due = "0" if code == GRADIENT else "1 (an exception)"
    wrong |= bad
    print(f"{code.strip()}\n-> expected exit code {due}, got {ended.returncode}{'   wrong' if bad else ''}")
sys.exit(int(wrong))
