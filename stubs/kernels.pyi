from gradfuzz.adapters.kernels import *
