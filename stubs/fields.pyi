from gradfuzz.adapters.fields import *
