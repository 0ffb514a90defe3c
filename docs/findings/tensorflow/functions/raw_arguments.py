"""Raw operations of TensorFlow whose value is returned and whose gradient raises.

Features of shape () with labels [[1]] are broadcast to [[x]]: the loss is -log softmax = 0, and has the gradient 0. A gamma
deviate of shape (0,) of alpha [1] has no entries, and the gradient of its sum is 0. Prints expected and got; exits with 1
while one raises.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow as tf
except ImportError as error:
    print(error)
    sys.exit(125)

one = tf.constant([[1.0]])
cases = {
    "SoftmaxCrossEntropyWithLogits": (
        lambda x: tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=one)[0],
        tf.constant(2.0),
    ),
    "StatelessRandomGammaV2": (
        lambda a: tf.raw_ops.StatelessRandomGammaV2(shape=(0,), seed=(1, 1), alpha=a),
        tf.constant([1.0, 1.0]),
    ),
}
wrong = False
print(f"tensorflow {tf.__version__}")
for name, (f, x) in cases.items():
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    try:
        got = tape.gradient(y, x).numpy().tolist()
        wrong = wrong or any(got) if isinstance(got, list) else wrong or got != 0.0
    except Exception as error:
        got, wrong = f"{type(error).__name__}: {str(error)[-60:]}", True
    print(f"{name}, value of shape {tuple(y.shape)}: expected 0, got {got}")
sys.exit(int(wrong))
