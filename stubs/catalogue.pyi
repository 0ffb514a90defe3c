from gradfuzz.adapters.catalogue import *
