"""Convolutions, their gradients and pools of arrays with too few axes, an inverse Fourier transform of frames of length 0,
updates at too many places, and a fake quantization with too many limits end the process; they should raise.

The calls are made in processes of their own. Exits with 1 while one of them is ended by a signal.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("tensorflow") is None:
    print("this script needs tensorflow")
    sys.exit(125)

CALLS = (
    "tf.raw_ops.Conv2D(input=tf.constant(1.0), filter=tf.constant([1.0]), strides=[1, 1, 1, 1], padding='SAME')",
    "tf.nn.conv3d(tf.ones([3, 1]), tf.constant(1.0), [1, 1, 1, 1, 1], 'SAME')",
    "tf.signal.inverse_stft(tf.ones([3, 3], tf.complex64), 0, 2)",
    "tf.tensor_scatter_nd_update(tf.ones([1, 3]), tf.zeros([2, 2, 2], tf.int64), tf.ones([2]))",
    "tf.nn.conv2d(tf.ones([3, 3]), tf.ones([2, 1]), 2, 'VALID')",
    "tf.raw_ops.DepthwiseConv2dNative(input=tf.ones([3]), filter=tf.ones([3]), strides=[1, 1, 1, 1], padding='SAME')",
    "tf.nn.depthwise_conv2d_backprop_filter(tf.ones([3, 3]), [1, 3, 3], tf.ones([3, 3]), [1, 1, 1, 1], 'VALID')",
    "tf.raw_ops.Conv3DBackpropFilterV2(input=tf.ones([3]), filter_sizes=[3], out_backprop=tf.ones([2]), strides=[1, 1, 1, 1, 1], padding='VALID')",
    "tf.nn.max_pool2d(tf.ones([4, 3]), 0, (0, 0), 'SAME', 'NCHW_VECT_C')",
    "tf.nn.max_pool3d(tf.ones([1, 2, 2, 2]), 16, 1, 'SAME')",
    "tf.scatter_nd(tf.zeros([2, 2, 2], tf.int64), tf.ones([2]), [2, 2, 2, 2])",
    "tf.tensor_scatter_nd_max(tf.ones([2, 2, 1]), tf.zeros([2, 2, 1], tf.int64), tf.ones([2]))",
    "tf.tensor_scatter_nd_sub(tf.ones([3, 3, 1]), tf.zeros([2, 3, 3], tf.int64), tf.ones([2]))",
    "tf.raw_ops.FakeQuantWithMinMaxVarsPerChannel(inputs=tf.constant(-2.0), min=tf.ones([2]), max=tf.ones([2, 2]))",
)
wrong = False
for call in CALLS:
    ended = subprocess.run([sys.executable, "-c", f"import tensorflow as tf; {call}"], capture_output=True)
    print(call, "-> expected exit code 1 (an exception), got", ended.returncode)
    wrong = wrong or ended.returncode < 0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
