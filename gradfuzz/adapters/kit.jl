# The protocol for adapters in Julia: copy this file beside yours. Julia 1.9 or newer, nothing else.
#
# Written after Julia's documentation; it has never been run. `gradfuzz targets check` tells what is wrong with it.
#
# An adapter describes each way into its library by a `Kit.Way`, and serves them:
#
#     include("kit.jl")
#
#     Kit.serve("MyLib", "1.0", [Kit.Way(
#         name = "reverse",
#         ops = Dict("add" => (args, params) -> args[1] + args[2], ...),       # op of a program => function of operands and params
#         array = (dtype, shape, entries) -> ...,                             # row-major numbers -> a tensor of the library
#         entries = x -> (dtype, shape, numbers),
#         differentiate = (f, xs, weights, directions, modes) -> (outputs, gradients),
#     )])
#
# Programs are walked here: loops and branches are Julia's, ints and bools that are scalars are Int64 and Bool, and ops on them are computed here. An
# exception is the library's answer; throw `Kit.Unsupported` for what it cannot do. What is printed goes to stderr.

module Kit

struct Unsupported <: Exception
    message::String
end

struct BadRequest <: Exception
    message::String
end

Base.showerror(io::IO, e::Union{Unsupported, BadRequest}) = print(io, e.message)

Base.@kwdef struct Way
    name::String = ""
    ops::Dict{String, Any}
    dtypes::Vector{String} = ["float64", "float32"]
    modes::Vector{String} = ["rev"]
    orders::Vector{Int} = [0, 1]
    loops::Vector{String} = ["for", "while", "repeat"]
    features::Vector{String} = ["branches", "break", "continue", "nested", "runtime_trips"]
    array::Any
    entries::Any
    differentiate::Any
end

# JSON ----------------------------------------------------------------------------------------------------------------

mutable struct Reader
    text::String
    at::Int
end

function read_json(text::AbstractString)
    r = Reader(String(text), 1)
    value = read_value(r)
    space(r)
    r.at > ncodeunits(r.text) || throw(BadRequest("there is more after the JSON"))
    return value
end

here(r) = r.at <= ncodeunits(r.text) ? Char(codeunit(r.text, r.at)) : '\0'

function space(r)
    while here(r) in (' ', '\t', '\r', '\n')
        r.at += 1
    end
end

function expect(r, text)
    startswith(SubString(r.text, r.at), text) || throw(BadRequest("no JSON at byte $(r.at)"))
    r.at += ncodeunits(text)
end

function read_value(r)
    space(r)
    c = here(r)
    c == '{' && return read_object(r)
    c == '[' && return read_array(r)
    c == '"' && return read_string(r)
    c == 't' && (expect(r, "true"); return true)
    c == 'f' && (expect(r, "false"); return false)
    c == 'n' && (expect(r, "null"); return nothing)
    start = r.at
    while here(r) in "+-.eE0123456789"
        r.at += 1
    end
    token = r.text[start:(r.at - 1)]
    return occursin(r"[.eE]", token) ? parse(Float64, token) : parse(Int64, token)
end

function read_object(r)
    found = Dict{String, Any}()
    expect(r, "{")
    space(r)
    here(r) == '}' && (r.at += 1; return found)
    while true
        space(r)
        key = read_string(r)
        space(r)
        expect(r, ":")
        found[key] = read_value(r)
        space(r)
        here(r) == '}' && (r.at += 1; return found)
        expect(r, ",")
    end
end

function read_array(r)
    found = Any[]
    expect(r, "[")
    space(r)
    here(r) == ']' && (r.at += 1; return found)
    while true
        push!(found, read_value(r))
        space(r)
        here(r) == ']' && (r.at += 1; return found)
        expect(r, ",")
    end
end

function read_string(r)
    expect(r, "\"")
    start = r.at
    while here(r) != '"'
        r.at += here(r) == '\\' ? 2 : 1
        r.at > ncodeunits(r.text) && throw(BadRequest("a string does not end"))
    end
    raw = String(codeunits(r.text)[start:(r.at - 1)])
    r.at += 1
    return occursin('\\', raw) ? unescape_string(replace(raw, "\\/" => "/")) : raw
end

write_json(io, v::AbstractDict) = joined(io, '{', '}', v) do io, (key, value)
    write_json(io, string(key))
    print(io, ':')
    write_json(io, value)
end
write_json(io, v::Union{AbstractVector, Tuple}) = joined(write_json, io, '[', ']', v)
write_json(io, v::Union{Bool, Integer}) = print(io, v)
write_json(io, v::AbstractFloat) = print(io, Float64(v))
write_json(io, ::Nothing) = print(io, "null")

function write_json(io, v::AbstractString)
    print(io, '"')
    for c in v
        c in ('"', '\\') ? print(io, '\\', c) : c < ' ' ? print(io, "\\u", string(UInt32(c), base = 16, pad = 4)) : print(io, c)
    end
    print(io, '"')
end

function joined(write_one, io, open, close, values)
    print(io, open)
    for (k, value) in enumerate(values)
        k > 1 && print(io, ',')
        write_one(io, value)
    end
    print(io, close)
end

# Tensors -------------------------------------------------------------------------------------------------------------

const SPECIAL = Dict("NaN" => NaN, "Infinity" => Inf, "-Infinity" => -Inf, "-0.0" => -0.0)

number(v) = v isa AbstractString ? SPECIAL[v] : Float64(v)

# (dtype, shape, entries) of a tensor in a message.
function decode(tensor)
    haskey(tensor, "data") || throw(BadRequest("a tensor cannot be read"))
    dtype, shape = tensor["dtype"], Int[tensor["shape"]...]
    entries = occursin("float", dtype) ? Float64[number(v) for v in tensor["data"]] : tensor["data"]
    length(entries) == prod(shape; init = 1) || throw(BadRequest("$(length(entries)) entries do not fill the shape $shape"))
    return dtype, shape, entries
end

written(v::Union{Bool, Integer}) = v
written(v) = isnan(v) ? "NaN" : isinf(v) ? (v > 0 ? "Infinity" : "-Infinity") : v == 0 && signbit(v) ? "-0.0" : Float64(v)

encode((dtype, shape, entries)) = Dict("dtype" => dtype, "shape" => Any[shape...], "data" => Any[written(v) for v in entries])

# Programs ------------------------------------------------------------------------------------------------------------

const ON_SCALARS = Dict{String, Any}(
    "add" => +, "subtract" => -, "multiply" => *, "negative" => -, "remainder" => mod, "abs" => abs, "sign" => sign,
    "maximum" => max, "minimum" => min, "less" => <, "less_equal" => <=, "greater" => >, "greater_equal" => >=, "equal" => ==,
    "not_equal" => !=, "logical_and" => &, "logical_or" => |, "logical_not" => !, "where" => ifelse,
)

# ("float", [3, 2]) of "float[3, 2]".
function type_of(text::AbstractString)
    parts = split(rstrip(text, ']'), '[')
    return String(parts[1]), length(parts) == 1 ? Int[] : Int[parse(Int, n) for n in split(parts[2], ',')]
end

type_of(e, types) = e isa AbstractString ? types[e] : haskey(e, "op") ? type_of(e["type"]) :
    haskey(e, "array") ? (e["array"], Int[e["shape"]...]) : (first(keys(e)), Int[])

struct Program
    way::Way
    dtype::String
    limit::Int
    params::Vector{Tuple{String, Tuple{String, Vector{Int}}}}
    types::Dict{String, Tuple{String, Vector{Int}}}
    body::Vector{Any}
    outputs::Vector{Any}
end

function Program(form, way, dtype, limit)
    types = Dict{String, Tuple{String, Vector{Int}}}(name => type_of(text) for (name, text) in form["variables"])
    params = Tuple{String, Tuple{String, Vector{Int}}}[(name, type_of(text)) for (name, text) in form["params"]]
    program = Program(way, dtype, limit, params, types, Any[], Any[])
    append!(program.body, [statement(program, s) for s in form["body"][1:(end - 1)]])
    append!(program.outputs, [expression(program, e) for e in form["body"][end]["return"]])
    return program
end

# The outputs at inputs by name.
function (program::Program)(inputs)
    env = copy(inputs)
    run(program.body, env)
    return Any[read(env) for read in program.outputs]
end

function run(statements, env)
    for s in statements
        ended = s(env)
        ended === :on || return ended
    end
    return :on
end

plain((dtype, shape)) = isempty(shape) && dtype in ("int", "bool")

# A value of a program: a tensor, or an int or a bool.
tensor(program, dtype, shape, entries) =
    isempty(shape) && dtype in ("int64", "bool") ? entries[1] : program.way.array(dtype, shape, entries)

function expression(program, e)
    e isa AbstractString && return env -> env[e]
    haskey(e, "op") && return call(program, e)
    dtype, shape, values = haskey(e, "array") ? (e["array"], Int[e["shape"]...], e["values"]) : (first(keys(e)), Int[], Any[first(values(e))])
    name = get(Dict("float" => program.dtype, "int" => "int64", "bool" => "bool"), dtype, nothing)
    name === nothing && throw(Unsupported("there are no $dtype numbers here"))
    value = tensor(program, name, shape, dtype == "float" ? Float64[number(v) for v in values] : values)
    return env -> value
end

function call(program, e)
    op, params = e["op"], e["params"]
    reads = Any[expression(program, a) for a in e["args"]]
    types = Any[type_of(a, program.types) for a in e["args"]]
    if haskey(ON_SCALARS, op) && all(plain, [type_of(e["type"]), types...])
        own = ON_SCALARS[op]
        return env -> own((read(env) for read in reads)...)
    elseif op == "astype" && isempty(types[1][2])
        return cast(program, types[1][1], params["dtype"], reads[1])
    elseif haskey(program.way.ops, op)
        found = program.way.ops[op]
        return env -> found(Any[read(env) for read in reads], params)
    end
    throw(Unsupported("there is no op $op here"))
end

function cast(program, own, wanted, read)
    own == wanted && return read
    own == "float" && throw(Unsupported("there is no conversion from float to $wanted here"))
    wanted == "float" && return env -> program.way.array(program.dtype, Int[], Float64[read(env)])
    return wanted == "bool" ? env -> read(env) != 0 : env -> Int64(read(env))
end

function statement(program, s)
    s == "break" && return env -> :break
    s == "continue" && return env -> :continue
    if haskey(s, "assign")
        name, read = s["assign"], expression(program, s["value"])
        return env -> (env[name] = read(env); :on)
    elseif haskey(s, "if")
        holds = expression(program, s["if"])
        yes, no = Any[statement(program, t) for t in s["then"]], Any[statement(program, t) for t in s["else"]]
        return env -> run(holds(env) ? yes : no, env)
    end
    body = Any[statement(program, t) for t in (haskey(s, "repeat") ? s["repeat"] : s["body"])]
    if haskey(s, "for")
        name, count = s["for"], expression(program, s["count"])
        return env -> begin
            last = count(env)
            trips(program, body, env, trip -> trip < last, trip -> (env[name] = trip))
        end
    end
    holds, again = expression(program, s["while"]), haskey(s, "repeat")
    return env -> trips(program, body, env, trip -> (again && trip == 0) || holds(env), trip -> nothing)
end

function trips(program, body, env, goes_on, begun)
    trip = 0
    while goes_on(trip)
        trip == program.limit && error("a loop is still running after $trip trips")
        begun(trip)
        run(body, env) === :break && break
        trip += 1
    end
    return :on
end

# Conversation --------------------------------------------------------------------------------------------------------

# Answers requests until bye, or until nobody is there any more.
function serve(name, version, ways)
    out = Base.fdio(ccall(:dup, Cint, (Cint,), 1), true)
    redirect_stdout(stderr)  # what a library prints must not be taken for a reply
    about = Dict("name" => name, "version" => version, "language" => "Julia $VERSION", "protocol" => 1, "features" => Any[])
    forms, programs = Dict{String, Any}(), Dict{Any, Program}()
    for line in eachline(stdin)
        reply = Dict{String, Any}("id" => 0)
        kind = ""
        try
            request = read_json(line)
            reply["id"], kind = request["id"], request["do"]
            reply["ok"] = asked(request, about, ways, forms, programs)
        catch error
            merge!(reply, error isa KeyError ? failure("bad_request", sprint(showerror, error)) : arm(error))
        end
        write_json(out, reply)
        print(out, '\n')
        flush(out)
        kind == "bye" && break
    end
end

failure(kind, message) = Dict("error" => Dict("kind" => kind, "message" => message))

# What was thrown, as an arm of a reply.
function arm(error)
    message = String(first(split(sprint(showerror, error), '\n')))
    error isa Unsupported && return Dict("unsupported" => message)
    error isa BadRequest && return failure("bad_request", message)
    error isa OutOfMemoryError && return failure("out_of_memory", message)
    return failure("exception", "$(nameof(typeof(error))): $message")
end

function asked(request, about, ways, forms, programs)
    kind = request["do"]
    kind == "hello" && return merge(about, Dict("ways" => Any[describe(way) for way in ways]))
    kind == "bye" && return Dict()
    if kind == "define"
        for name in (request["forget"]..., request["program"])
            delete!(forms, name)
            filter!(pair -> pair.first[1] != name, programs)
        end
        forms[request["program"]] = (request["form"], request["trip_limit"])
        program_of(request["program"], first(ways), first(first(ways).dtypes), forms, programs)
        return Dict()
    end
    kind == "eval" || throw(Unsupported("there is no $kind here"))
    found = findfirst(way -> way.name == request["way"], ways)
    found === nothing && throw(BadRequest("there is no such way here"))
    request["dtype"] in ways[found].dtypes || throw(Unsupported("$(request["dtype"]) is no dtype of this way"))
    program = program_of(request["program"], ways[found], request["dtype"], forms, programs)
    inputs = Dict(name => decode(t) for (name, t) in request["inputs"])
    for (name, (_, shape)) in program.params
        haskey(inputs, name) && inputs[name][2] == [request["count"], shape...] || throw(BadRequest("the input $name has another shape"))
    end
    return Dict("results" => Any[point(program, request, inputs, k) for k in 1:request["count"]])
end

describe(way) = Dict(
    "name" => way.name, "ops" => collect(keys(way.ops)), "dtypes" => way.dtypes, "modes" => way.modes, "orders" => way.orders,
    "loops" => way.loops, "features" => way.features,
)

function program_of(name, way, dtype, forms, programs)
    haskey(forms, name) || throw(BadRequest("the program $name was never defined"))
    return get!(() -> Program(forms[name][1], way, dtype, forms[name][2]), programs, (name, way.name, dtype))
end

function point(program, request, inputs, k)
    way, wrt, modes = program.way, String[request["wrt"]...], String[request["modes"]...]
    try
        values = Dict{String, Any}()
        for (name, (dtype, shape, entries)) in inputs
            size = prod(shape[2:end]; init = 1)
            values[name] = tensor(program, dtype, shape[2:end], entries[((k - 1) * size + 1):(k * size)])
        end
        weights = Any[w === nothing ? nothing : way.array(decode(w)...) for w in request["weights"]]
        directions = length(modes) > 1 ? Any[way.array(decode(request["directions"][name])...) for name in wrt] : Any[]
        f = xs -> program(merge(values, Dict{String, Any}(zip(wrt, xs))))
        outputs, gradient = way.differentiate(f, Any[values[name] for name in wrt], weights, directions, modes)
        slopes = isempty(modes) ? Dict() : Dict(name => encode(way.entries(g)) for (name, g) in zip(wrt, gradient))
        return Dict("ok" => Dict("values" => Any[encode(entries_of(way, y)) for y in outputs], "gradient" => slopes))
    catch error
        error isa BadRequest && rethrow()
        return arm(error)
    end
end

entries_of(way, y) = y isa Bool ? ("bool", Int[], [y]) : y isa Int64 ? ("int64", Int[], [y]) : way.entries(y)

end
