# The protocol for adapters in Elixir: copy this file beside yours, or leave both where gradfuzz ships them. Elixir 1.14 or newer, nothing else.
#
# An adapter describes each way into its library by a map, and serves them:
#
#     Code.require_file("kit.exs", __DIR__)
#
#     Kit.serve("mylib", version, [
#       Kit.way(%{
#         name: "eager",
#         ops: %{"add" => fn [a, b], _ -> MyLib.add(a, b) end, ...},      # op of a program => function of operands and params
#         array: fn dtype, shape, entries -> ... end,                     # row-major numbers => a tensor of the library
#         entries: fn tensor -> {dtype, shape, numbers} end,
#         differentiate: fn f, xs, weights, directions, modes -> {outputs, gradients} end
#       })
#     ])
#
# Programs are walked by `Kit.Program`: ints and bools that are scalars are Elixir's, and ops on them are computed there. Floats that Elixir has none
# for are the atoms :nan, :infinity and :neg_infinity. An exception is the library's answer; raise `Kit.Unsupported` for what it cannot do. ArithmeticError,
# which Elixir raises where others return an infinity, is *non_finite*. A way that compiles programs gives `compile: fn form, dtype, trip_limit -> program end`
# and `answer: fn way, program, request, inputs -> results end` instead.
#
# What is printed by IO.puts goes to stderr.

defmodule Kit.Unsupported do
  defexception message: "the library has no way to do this"
end

defmodule Kit.NonFinite do
  defexception message: "the result is not finite"
end

defmodule Kit.BadRequest do
  defexception message: "the request is no good"
end

defmodule Kit.Json do
  @moduledoc "JSON with ints of any size, as maps with strings for keys. Floats are written so that they are read back bit for bit."

  def decode(text) do
    {value, rest} = value(space(text))
    if space(rest) != "", do: raise(ArgumentError, "there is more after the JSON")
    value
  end

  defp value("{" <> rest), do: object(space(rest), [])
  defp value("[" <> rest), do: array(space(rest), [])
  defp value("\"" <> rest), do: string(rest, [])
  defp value("true" <> rest), do: {true, rest}
  defp value("false" <> rest), do: {false, rest}
  defp value("null" <> rest), do: {nil, rest}
  defp value(text), do: number(text, digits(text, 0))

  defp object("}" <> rest, []), do: {%{}, rest}

  defp object("\"" <> rest, pairs) do
    {key, rest} = string(rest, [])
    ":" <> rest = space(rest)
    {value, rest} = value(space(rest))

    case space(rest) do
      "," <> rest -> object(space(rest), [{key, value} | pairs])
      "}" <> rest -> {Map.new([{key, value} | pairs]), rest}
    end
  end

  defp array("]" <> rest, []), do: {[], rest}

  defp array(text, values) do
    {value, rest} = value(text)

    case space(rest) do
      "," <> rest -> array(space(rest), [value | values])
      "]" <> rest -> {Enum.reverse([value | values]), rest}
    end
  end

  defp string(text, parts) do
    case :binary.match(text, ["\"", "\\"]) do
      {at, 1} ->
        <<before::binary-size(at), mark, rest::binary>> = text
        if mark == ?", do: {IO.iodata_to_binary([parts, before]), rest}, else: escape(rest, [parts, before])
    end
  end

  defp escape(<<"u", hex::binary-size(4), rest::binary>>, parts) do
    high = String.to_integer(hex, 16)

    case rest do
      <<"\\u", hex::binary-size(4), rest::binary>> when high in 0xD800..0xDBFF ->
        string(rest, [parts, <<0x10000 + (high - 0xD800) * 0x400 + String.to_integer(hex, 16) - 0xDC00::utf8>>])

      _ ->
        string(rest, [parts, <<high::utf8>>])
    end
  end

  defp escape(<<c, rest::binary>>, parts) do
    plain = %{?n => "\n", ?t => "\t", ?r => "\r", ?b => "\b", ?f => "\f", ?" => "\"", ?\\ => "\\", ?/ => "/"}
    string(rest, [parts, Map.fetch!(plain, c)])
  end

  defp digits(text, n) do
    case text do
      <<_::binary-size(n), c, _::binary>> when c in ?0..?9 or c in [?-, ?+, ?., ?e, ?E] -> digits(text, n + 1)
      _ -> n
    end
  end

  defp number(text, n) do
    <<token::binary-size(n), rest::binary>> = text

    cond do
      String.contains?(token, ".") -> {:erlang.binary_to_float(token), rest}
      String.contains?(token, ["e", "E"]) -> {:erlang.binary_to_float(String.replace(token, ["e", "E"], ".0e")), rest}
      true -> {String.to_integer(token), rest}
    end
  end

  defp space(<<c, rest::binary>>) when c in [?\s, ?\t, ?\r, ?\n], do: space(rest)
  defp space(text), do: text

  @doc "The text as iodata."
  def encode(value) when is_map(value) do
    [?{, value |> Enum.map(fn {k, v} -> [encode(to_string(k)), ?:, encode(v)] end) |> Enum.intersperse(?,), ?}]
  end

  def encode(value) when is_list(value), do: [?[, value |> Enum.map(&encode/1) |> Enum.intersperse(?,), ?]]
  def encode(nil), do: "null"
  def encode(value) when is_boolean(value) or is_integer(value), do: to_string(value)
  def encode(value) when is_float(value), do: Float.to_string(value)
  def encode(value) when is_atom(value), do: encode(to_string(value))

  def encode(value) when is_binary(value) do
    text = if String.valid?(value), do: value, else: inspect(value)
    [?", for(<<c::utf8 <- text>>, do: escaped(c)), ?"]
  end

  defp escaped(c) when c in [?", ?\\], do: [?\\, c]
  defp escaped(c) when c < 32, do: "\\u" <> String.pad_leading(Integer.to_string(c, 16), 4, "0")
  defp escaped(c), do: <<c::utf8>>
end

defmodule Kit.Tensor do
  @moduledoc "Tensors of messages as {dtype, shape, entries}, the shape a list."

  @special %{"NaN" => :nan, "Infinity" => :infinity, "-Infinity" => :neg_infinity, "-0.0" => -0.0}
  @names %{nan: "NaN", infinity: "Infinity", neg_infinity: "-Infinity"}

  def decode(%{"dtype" => dtype, "shape" => shape, "data" => data}) do
    entries = if String.contains?(dtype, "float"), do: Enum.map(data, &float/1), else: data
    size = Enum.product(shape)
    unless length(data) == size, do: raise(Kit.BadRequest, "#{length(data)} entries do not fill the shape #{inspect(shape)}")
    {dtype, shape, entries}
  end

  def decode(_), do: raise(Kit.BadRequest, "a tensor cannot be read")

  @doc "A float of a message."
  def float(v) when is_binary(v), do: Map.fetch!(@special, v)
  def float(v), do: v * 1.0

  def encode({dtype, shape, entries}), do: %{dtype: dtype, shape: shape, data: Enum.map(entries, &entry/1)}

  defp entry(v) when is_float(v) and v == 0.0, do: if(match?(<<1::1, _::63>>, <<v::float>>), do: "-0.0", else: 0.0)
  defp entry(v), do: Map.get(@names, v, v)
end

defmodule Kit.Program do
  @moduledoc """
  A program as a function of values: loops and branches are Elixir's. A block is a function from the variables to {:on | :break | :continue, variables}.
  """

  @on_scalars %{
    "add" => &Kernel.+/2,
    "subtract" => &Kernel.-/2,
    "multiply" => &Kernel.*/2,
    "negative" => &Kernel.-/1,
    "remainder" => &Integer.mod/2,
    "abs" => &Kernel.abs/1,
    "sign" => &__MODULE__.sign/1,
    "maximum" => &Kernel.max/2,
    "minimum" => &Kernel.min/2,
    "less" => &Kernel.</2,
    "less_equal" => &Kernel.<=/2,
    "greater" => &Kernel.>/2,
    "greater_equal" => &Kernel.>=/2,
    "equal" => &Kernel.==/2,
    "not_equal" => &Kernel.!=/2,
    "logical_and" => &:erlang.and/2,
    "logical_or" => &:erlang.or/2,
    "logical_not" => &:erlang.not/1,
    "where" => &__MODULE__.choose/3
  }

  defstruct [:form, :dtype, :params, :way, :limit, :body, :outputs, :types]

  def new(form, way, dtype, limit) do
    types = Map.new(form["variables"], fn {name, text} -> {name, type(text)} end)
    params = Enum.map(form["params"], fn [name, text] -> {name, type(text)} end)
    program = %Kit.Program{form: form, dtype: dtype, params: params, way: way, limit: limit, types: types}
    {statements, [%{"return" => outputs}]} = Enum.split(form["body"], -1)
    %{program | body: block(statements, program), outputs: Enum.map(outputs, &expression(&1, program))}
  end

  @doc "The outputs at inputs by name."
  def run(program, inputs) do
    {:on, env} = program.body.(inputs)
    Enum.map(program.outputs, & &1.(env))
  end

  @doc "A value of a program: a tensor, or an int or a bool."
  def tensor(_, dtype, [], [entry]) when dtype in ["int64", "bool"], do: entry
  def tensor(program, dtype, shape, entries), do: program.way.array.(dtype, shape, entries)

  @doc ~S({"float", [3, 2]} of "float[3, 2]")
  def type(text) do
    case String.split(text, ["[", "]"], trim: true) do
      [dtype] -> {dtype, []}
      [dtype, sizes] -> {dtype, sizes |> String.split(",") |> Enum.map(&(&1 |> String.trim() |> String.to_integer()))}
    end
  end

  @doc "The type of an expression, by the types of the variables."
  def type_of(name, types) when is_binary(name), do: types[name]
  def type_of(%{"op" => _, "type" => text}, _), do: type(text)
  def type_of(%{"array" => dtype, "shape" => shape}, _), do: {dtype, shape}
  def type_of(literal, _), do: {literal |> Map.keys() |> hd(), []}

  def sign(n), do: if(n > 0, do: 1, else: if(n < 0, do: -1, else: 0))
  def choose(condition, a, b), do: if(condition, do: a, else: b)

  # Expressions

  defp expression(name, _) when is_binary(name), do: & &1[name]

  defp expression(%{"op" => op, "args" => args, "params" => params} = call, program) do
    reads = Enum.map(args, &expression(&1, program))
    types = Enum.map(args, &type_of(&1, program.types))
    plain = Enum.all?([type(call["type"]) | types], fn {dtype, shape} -> dtype in ["int", "bool"] and shape == [] end)

    cond do
      plain and is_map_key(@on_scalars, op) ->
        function = @on_scalars[op]
        fn env -> apply(function, Enum.map(reads, & &1.(env))) end

      op == "astype" and elem(hd(types), 1) == [] ->
        cast(elem(hd(types), 0), params["dtype"], hd(reads), program)

      is_map_key(program.way.ops, op) ->
        function = program.way.ops[op]
        fn env -> function.(Enum.map(reads, & &1.(env)), params) end

      true ->
        raise Kit.Unsupported, "there is no op #{op} here"
    end
  end

  defp expression(%{"array" => dtype, "shape" => shape, "values" => values}, program), do: constant(dtype, shape, values, program)

  defp expression(literal, program) do
    [{dtype, value}] = Map.to_list(literal)
    constant(dtype, [], [value], program)
  end

  defp constant(dtype, shape, values, program) do
    name = %{"float" => program.dtype, "int" => "int64", "bool" => "bool"}[dtype]
    unless name, do: raise(Kit.Unsupported, "there are no #{dtype} numbers here")
    value = tensor(program, name, shape, if(dtype == "float", do: Enum.map(values, &Kit.Tensor.float/1), else: values))
    fn _ -> value end
  end

  defp cast(own, own, read, _), do: read
  defp cast("int", "float", read, program), do: fn env -> program.way.array.(program.dtype, [], [read.(env) * 1.0]) end
  defp cast("int", "bool", read, _), do: fn env -> read.(env) != 0 end
  defp cast("bool", "int", read, _), do: fn env -> if read.(env), do: 1, else: 0 end
  defp cast("bool", "float", read, program), do: cast("int", "float", cast("bool", "int", read, program), program)
  defp cast(own, wanted, _, _), do: raise(Kit.Unsupported, "there is no conversion from #{own} to #{wanted} here")

  # Statements

  defp block(statements, program) do
    run = Enum.map(statements, &statement(&1, program))

    fn env ->
      Enum.reduce_while(run, {:on, env}, fn statement, {:on, env} ->
        case statement.(env) do
          {:on, _} = on -> {:cont, on}
          ended -> {:halt, ended}
        end
      end)
    end
  end

  defp statement("break", _), do: &{:break, &1}
  defp statement("continue", _), do: &{:continue, &1}

  defp statement(%{"assign" => name, "value" => value}, program) do
    read = expression(value, program)
    &{:on, Map.put(&1, name, read.(&1))}
  end

  defp statement(%{"if" => condition, "then" => then, "else" => otherwise}, program) do
    {holds, yes, no} = {expression(condition, program), block(then, program), block(otherwise, program)}
    fn env -> if holds.(env), do: yes.(env), else: no.(env) end
  end

  defp statement(%{"for" => name, "count" => count, "body" => body}, program) do
    {count, body} = {expression(count, program), block(body, program)}

    fn env ->
      last = count.(env)
      trips(fn trip, _ -> trip < last end, fn trip, env -> body.(Map.put(env, name, trip)) end, 0, env, program.limit)
    end
  end

  defp statement(%{"repeat" => body, "while" => condition}, program) do
    {holds, body} = {expression(condition, program), block(body, program)}
    fn env -> trips(fn trip, env -> trip == 0 or holds.(env) end, fn _, env -> body.(env) end, 0, env, program.limit) end
  end

  defp statement(%{"while" => condition, "body" => body}, program) do
    {holds, body} = {expression(condition, program), block(body, program)}
    fn env -> trips(fn _, env -> holds.(env) end, fn _, env -> body.(env) end, 0, env, program.limit) end
  end

  defp trips(holds, body, trip, env, limit) do
    if holds.(trip, env) do
      if trip == limit, do: raise("a loop is still running after #{trip} trips")

      case body.(trip, env) do
        {:break, env} -> {:on, env}
        {_, env} -> trips(holds, body, trip + 1, env, limit)
      end
    else
      {:on, env}
    end
  end
end

defmodule Kit do
  @version 1

  @doc "A way with what it does not say filled in. `hints` are further fields of a way in the protocol: stride, by_shape, variant, together."
  def way(given) do
    Map.merge(
      %{
        name: "",
        ops: %{},
        dtypes: ["float64", "float32"],
        modes: ["rev"],
        orders: [0, 1],
        loops: ["for", "while", "repeat"],
        features: ["branches", "break", "continue", "nested", "runtime_trips"],
        hints: %{},
        compile: nil,
        answer: &answer/4
      },
      given
    )
  end

  @doc "Answers requests until bye, or until nobody is there any more."
  def serve(name, version, ways) do
    io = Process.group_leader()
    Process.group_leader(self(), Process.whereis(:standard_error))
    :io.setopts(io, binary: true, encoding: :latin1)
    about = %{name: name, version: version, language: "Elixir #{System.version()}"}
    converse(io, %{about: about, ways: ways, forms: %{}, programs: %{}})
  end

  defp converse(io, state) do
    case IO.binread(io, :line) do
      line when is_binary(line) ->
        {reply, goes_on, state} = reply(line, state)
        IO.binwrite(io, [Kit.Json.encode(reply), ?\n])
        if goes_on, do: converse(io, state)

      _ ->
        :ok
    end
  end

  @doc "The reply to a line, whether the conversation goes on, and what is known then."
  def reply(line, state) do
    request = read(line)
    id = request["id"]

    try do
      {ok, state} = asked(request["do"], request, state)
      {%{id: id, ok: ok}, request["do"] != "bye", state}
    rescue
      error in [KeyError, MatchError, FunctionClauseError, BadMapError] ->
        {%{id: id, error: %{kind: "bad_request", message: first_line(Exception.message(error))}}, true, state}

      error ->
        {Map.put(arm(error), :id, id), true, state}
    end
  rescue
    error -> {%{id: 0, error: %{kind: "bad_request", message: "no request: " <> first_line(Exception.message(error))}}, true, state}
  end

  defp read(line) do
    %{"id" => id} = request = Kit.Json.decode(line)
    true = is_integer(id)
    request
  end

  defp asked("hello", _, state) do
    ways =
      Enum.map(state.ways, fn way ->
        way |> Map.take([:name, :dtypes, :modes, :orders, :loops, :features]) |> Map.put(:ops, Map.keys(way.ops)) |> Map.merge(way.hints)
      end)

    {Map.merge(state.about, %{protocol: @version, ways: ways, features: []}), state}
  end

  defp asked("define", request, state) do
    %{"program" => name, "form" => form, "forget" => forget, "trip_limit" => limit} = request
    kept = for {{program, _, _} = key, value} <- state.programs, program not in forget, program != name, into: %{}, do: {key, value}
    state = %{state | forms: state.forms |> Map.drop(forget) |> Map.put(name, {form, limit}), programs: kept}
    {%{}, try_ways(state.ways, name, state)}
  end

  defp asked("eval", request, state) do
    way = Enum.find(state.ways, &(&1.name == request["way"]))
    unless way, do: raise(Kit.BadRequest, "there is no way #{inspect(request["way"])} here")
    unless request["dtype"] in way.dtypes, do: raise(Kit.Unsupported, "#{request["dtype"]} is no dtype of this way")
    {program, state} = program(request["program"], way, request["dtype"], state)
    inputs = Map.new(request["inputs"], fn {name, tensor} -> {name, Kit.Tensor.decode(tensor)} end)

    for [name, text] <- elem(state.forms[request["program"]], 0)["params"] do
      shape = [request["count"] | elem(Kit.Program.type(text), 1)]
      fits = match?({_, ^shape, _}, inputs[name])
      unless fits, do: raise(Kit.BadRequest, "the input #{name} has not the shape #{inspect(shape)}")
    end

    {%{results: Enum.map(way.answer.(way, program, request, inputs), &one/1)}, state}
  end

  defp asked("bye", _, state), do: {%{}, state}
  defp asked(other, _, _), do: raise(Kit.Unsupported, "there is no #{inspect(other)} here")

  # What is wrong with a program is said when it is defined.
  defp try_ways([way | rest], name, state) do
    elem(program(name, way, hd(way.dtypes), state), 1)
  rescue
    error in Kit.Unsupported -> if rest == [], do: reraise(error, __STACKTRACE__), else: try_ways(rest, name, state)
  end

  defp program(name, way, dtype, state) do
    key = {name, way.name, dtype}
    unless is_map_key(state.forms, name), do: raise(Kit.BadRequest, "the program #{name} was never defined")
    {form, limit} = state.forms[name]

    program =
      state.programs[key] || if(way.compile, do: way.compile.(form, dtype, limit), else: Kit.Program.new(form, way, dtype, limit))

    {program, put_in(state.programs[key], program)}
  end

  @doc "One result per point: {:ok, outputs, %{name => derivative}} of {dtype, shape, entries}, or another arm of a reply (`arm`)."
  def answer(way, program, request, inputs) do
    each_point(request, inputs, fn here, weights, directions ->
      here = Map.new(here, fn {name, {dtype, shape, entries}} -> {name, Kit.Program.tensor(program, dtype, shape, entries)} end)
      given = fn {dtype, shape, entries} -> way.array.(dtype, shape, entries) end
      f = fn xs -> Kit.Program.run(program, Map.merge(here, Map.new(Enum.zip(request["wrt"], xs)))) end
      xs = Enum.map(request["wrt"], &here[&1])
      weights = Enum.map(weights, &(&1 && given.(&1)))
      {outputs, gradients} = way.differentiate.(f, xs, weights, Enum.map(directions, given), request["modes"])
      {Enum.map(outputs, &entries(way, &1)), Enum.map(gradients, &entries(way, &1))}
    end)
  end

  defp entries(_, value) when is_boolean(value), do: {"bool", [], [value]}
  defp entries(_, value) when is_integer(value), do: {"int64", [], [value]}
  defp entries(way, value), do: way.entries.(value)

  @doc """
  `ask` at every point: a function of the inputs by name, the weights (nil for an output that takes no part) and the directions, all
  {dtype, shape, entries}; it returns the outputs and the derivatives as such.
  """
  def each_point(request, inputs, ask) do
    weights = Enum.map(request["weights"], &(&1 && Kit.Tensor.decode(&1)))
    wrt = if request["modes"] == [], do: [], else: request["wrt"]
    directions = if length(request["modes"]) > 1, do: Enum.map(wrt, &Kit.Tensor.decode(request["directions"][&1])), else: []
    unknown = Enum.find(request["wrt"], &(not is_map_key(inputs, &1)))
    if unknown, do: raise(Kit.BadRequest, "there is no input #{unknown}")

    columns =
      for {name, {dtype, [_ | shape], entries}} <- inputs do
        size = max(Enum.product(shape), 1)
        rows = if entries == [], do: List.duplicate([], request["count"]), else: Enum.chunk_every(entries, size)
        Enum.map(rows, &{name, {dtype, shape, &1}})
      end

    points = if columns == [], do: List.duplicate(%{}, request["count"]), else: columns |> Enum.zip_with(&Map.new/1)

    Enum.map(points, fn here ->
      try do
        {outputs, gradients} = ask.(here, weights, directions)
        {:ok, outputs, Map.new(Enum.zip(wrt, gradients))}
      rescue
        error in Kit.BadRequest -> reraise(error, __STACKTRACE__)
        error -> arm(error)
      catch
        kind, reason -> %{error: %{kind: "exception", message: first_line("#{kind}: #{inspect(reason)}")}}
      end
    end)
  end

  defp one({:ok, outputs, gradient}) do
    slopes = Map.new(gradient, fn {name, g} -> {name, Kit.Tensor.encode(g)} end)
    %{ok: %{values: Enum.map(outputs, &Kit.Tensor.encode/1), gradient: slopes}}
  end

  defp one(arm), do: arm

  @doc "An exception as an arm of a reply."
  def arm(error) do
    message = first_line(Exception.message(error))

    case error do
      %Kit.Unsupported{} -> %{unsupported: message}
      %Kit.BadRequest{} -> %{error: %{kind: "bad_request", message: message}}
      %kind{} when kind in [Kit.NonFinite, ArithmeticError] -> %{error: %{kind: "non_finite", message: message}}
      %kind{} -> %{error: %{kind: "exception", message: "#{inspect(kind)}: #{message}"}}
    end
  end

  defp first_line(text), do: text |> String.trim() |> String.split("\n") |> hd() |> String.slice(0, 300)
end
