from gradfuzz.adapters.kit import *
from gradfuzz.adapters.kit import SPELLED as SPELLED
from gradfuzz.adapters.kit import Block as Block
from gradfuzz.adapters.kit import Body as Body
from gradfuzz.adapters.kit import Function as Function
from gradfuzz.adapters.kit import Inputs as Inputs
from gradfuzz.adapters.kit import Message as Message
from gradfuzz.adapters.kit import Modes as Modes
from gradfuzz.adapters.kit import Numbers as Numbers
from gradfuzz.adapters.kit import Shape as Shape
from gradfuzz.adapters.kit import Step as Step
from gradfuzz.adapters.kit import Test as Test
