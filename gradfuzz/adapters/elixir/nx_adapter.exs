# Nx. A program becomes a `defn`: its loops are `while` with everything that a body uses in the carry, its
# branches `if`. Reverse mode, higher orders by nesting grad; BinaryBackend and the evaluator unless the
# environment configures others, as EXLA, with which it was not run. The ways:
#
#     while      value_and_grad, point by point
#     grad       grad, and the program run beside it
#     vectorize  all points in one call, by Nx.vectorize: an input that varies along the rows of a grid of
#                points has the axis :a, along its columns :b
#
# `gradfuzz targets install nx` installs it by Mix, `gradfuzz targets install nx==PATH` takes the folders
# `ebin`, or the sources, below PATH. Without an environment: elixir -pa 'PATH/TO/ebin' nx_adapter.exs, for
# each of Nx, Complex and Telemetry. With Hex: elixir nx_adapter.exs, which installs Nx by Mix.install;
# NX_VERSION says which ("== 0.9.2"; "~> 0.10" where it is not set).
#
# Ints and bools pass through stop_grad where they are assigned: Nx differentiates them, too, and has no
# derivatives of comparisons.
# A while loop cannot be told how many trips it may take, and its gradient takes time in the square of them,
# at every order: a question has 5 seconds and one more for each point. What is not answered then is
# *unsupported*.

Code.require_file("kit.exs", __DIR__)

defmodule NxSource do
  @moduledoc "The source of a module with the function `f` of a program. Needs no Nx."

  @types %{"float64" => ":f64", "float32" => ":f32", "bfloat16" => ":bf16", "float16" => ":f16"}
  @renamed %{
    "erfinv" => "erf_inv",
    "expit" => "sigmoid",
    "maximum" => "max",
    "minimum" => "min",
    "negative" => "negate",
    "where" => "select"
  }
  # Nx rounds halves away from zero, which is another function than `round`.
  @functions ~w(
    abs acos acosh add asin asinh atan atan2 atanh cbrt ceil cos cosh divide equal erf erfc exp
    expm1 floor greater greater_equal less less_equal log log10 log1p log2 logical_and logical_not
    logical_or multiply not_equal outer pow rsqrt sign sin sinh sqrt subtract tan tanh
  )
             |> Map.new(&{&1, &1})
             |> Map.merge(@renamed)
  @reductions Map.merge(Map.new(~w(all any logsumexp mean sum), &{&1, &1}), %{
                "amax" => "reduce_max",
                "amin" => "reduce_min",
                "prod" => "product"
              })
  @scans %{
    "cumulative_max" => "cumulative_max",
    "cumulative_prod" => "cumulative_product",
    "cumulative_sum" => "cumulative_sum"
  }
  @others ~w(
    argmax argmin argsort astype broadcast_to cholesky clip concat conv det diagonal eigh eigvalsh
    flip index index_update integer_pow inv kron log_softmax lstsq lu matmul matrix_norm
    matrix_power permute_dims pinv qr remainder reshape scatter_add slogdet softmax solve sort
    stack svd svdvals take take_along_axis trace triangular_solve tril triu vector_norm window_sum
  )

  # All of a tuple with the same vectorized axes; `count` of them from `first` on only if they have any.
  @aligned """
  deftransformp aligned(tuple, first, count) do
    {before, rest} = tuple |> Tuple.to_list() |> Enum.split(first)
    {apart, rest} = rest |> Enum.map(&Nx.to_tensor/1) |> Enum.split(count)
    before = Enum.map(before, &Nx.to_tensor/1)
    together = fn [] -> []; all -> Nx.broadcast_vectors(all) end

    if Enum.any?(apart, &(&1.vectorized_axes != [])) do
      List.to_tuple(together.(before ++ apart ++ rest))
    else
      {before, rest} = (before ++ rest) |> together.() |> Enum.split(first)
      List.to_tuple(before ++ apart ++ rest)
    end
  end
  """

  @doc "The function of Nx for an elementwise op."
  def function(op), do: @functions[op]

  def ops, do: Map.keys(@functions) ++ Map.keys(@reductions) ++ Map.keys(@scans) ++ @others

  @doc "With `vectorized` all that a loop carries has the same vectorized axes, as `while` requires."
  def source(module, form, dtype, vectorized \\ false) do
    types = Map.new(form["variables"], fn {name, text} -> {name, Kit.Program.type(text)} end)
    context = %{types: types, float: @types[dtype], loop: 0, vectorized: vectorized}
    {statements, [%{"return" => outputs}]} = Enum.split(form["body"], -1)
    params = Enum.map(form["params"], &hd/1)
    {lines, _} = block(statements, MapSet.new(params), context)
    results = Enum.map(outputs, &value(&1, context))

    Enum.join(
      ["defmodule #{module} do", "import Nx.Defn", "defn f(#{Enum.map_join(params, ", ", &name/1)}) do"] ++
        lines ++
        ["{#{Enum.join(results, ", ")}}", "end"] ++ if(vectorized, do: [@aligned], else: []) ++ ["end"],
      "\n"
    )
  end

  def dtype("int", _), do: ":s64"
  def dtype("bool", _), do: ":u8"
  def dtype("float", context), do: context.float
  def dtype(other, _), do: raise(Kit.Unsupported, "#{other} numbers are not asked about in Nx")

  defp name("@" <> flag), do: flag

  defp name(name),
    do:
      "v_" <>
        for(<<c <- name>>,
          into: "",
          do: if(c in ?a..?z or c in ?A..?Z or c in ?0..?9 or c == ?_, do: <<c>>, else: "x#{c}x")
        )

  # Statements: lines, and the names that have a value after them

  defp block([], bound, _), do: {[], bound}

  defp block([statement | rest], bound, context) do
    {lines, bound} = statement(statement, bound, context)

    if exits?(statement) and rest != [] do
      guarded = %{
        "if" => "@alive#{context.loop}",
        "then" => rest,
        "else" => [],
        "assigns" => rest |> assigned() |> Enum.sort()
      }

      {more, bound} = statement(guarded, bound, context)
      {lines ++ more, bound}
    else
      {more, bound} = block(rest, bound, context)
      {lines ++ more, bound}
    end
  end

  defp statement(exit, bound, context) when exit in ["break", "continue"] do
    alive = "alive#{context.loop} = Nx.tensor(0, type: :u8)"

    {if(exit == "break", do: [alive, "broken#{context.loop} = Nx.tensor(1, type: :u8)"], else: [alive]),
     bound}
  end

  defp statement(%{"assign" => target, "value" => value}, bound, context) do
    text = value(value, context)
    constant = is_binary(value) or match?(%{"int" => _}, value) or match?(%{"bool" => _}, value)

    text =
      if elem(context.types[target], 0) in ["int", "bool"] and not constant,
        do: "stop_grad(#{text})",
        else: text

    {["#{name(target)} = #{text}"], MapSet.put(bound, target)}
  end

  defp statement(%{"if" => condition} = s, bound, context) do
    names = s["assigns"] ++ (s |> flags(context) |> Enum.sort())

    if names == [] do
      {[], bound}
    else
      sides =
        for side <- [s["then"], s["else"]] do
          {lines, inner} = block(side, bound, context)
          lines ++ ["{#{Enum.map_join(names, ", ", &read(&1, inner, context))}}"]
        end

      predicate = if is_binary(condition), do: name(condition), else: value(condition, context)

      lines =
        ["{#{Enum.map_join(names, ", ", &name/1)}} =", "if #{predicate} do"] ++
          hd(sides) ++ ["else"] ++ List.last(sides) ++ ["end"]

      {lines, MapSet.union(bound, MapSet.new(names))}
    end
  end

  defp statement(%{"captures" => captures} = s, bound, context) do
    context = %{context | loop: context.loop + 1}
    body = s["body"] || s["repeat"]

    {alive, broken, first, count} =
      {"alive#{context.loop}", "broken#{context.loop}", "first#{context.loop}", "count#{context.loop}"}

    breaks = MapSet.member?(flags(%{"then" => body}, context), "@" <> broken)
    carries = s["carries"] ++ s["results"]
    {lines, _} = block(body, MapSet.new(carries ++ captures ++ List.wrap(s["for"])), context)
    on = "Nx.tensor(1, type: :u8)"
    lines = if Enum.any?(body, &exits?/1), do: ["#{alive} = #{on}" | lines], else: lines
    off = "Nx.tensor(0, type: :u8)"

    # What is carried: a name, its value before the loop, its value after a trip.
    own = Enum.map(carries, &{name(&1), read(&1, bound, context), name(&1)})
    shared = Enum.map(captures, &{name(&1), name(&1), name(&1)})
    flag = if breaks, do: [{broken, off, broken}], else: []

    {more, test} =
      cond do
        s["for"] ->
          i = name(s["for"])
          counter = {i, "Nx.tensor(0, type: :s64)", "#{i} + 1"}

          case s["count"] do
            %{"int" => n} -> {[counter], "#{i} < #{n}"}
            text -> {[counter, {count, value(text, context), count}], "#{i} < #{count}"}
          end

        s["repeat"] ->
          {[{first, on, "stop_grad(#{value(s["while"], context)})"}], first}

        true ->
          {[], value(s["while"], context)}
      end

    all = own ++ more ++ flag ++ shared
    test = if breaks, do: "Nx.logical_and(Nx.logical_not(#{broken}), #{test})", else: test

    left =
      Enum.map_join(all, ", ", fn {name, _, _} ->
        if name in Enum.map(own, &elem(&1, 0)), do: name, else: "_"
      end)

    again = "{#{Enum.map_join(all, ", ", &elem(&1, 2))}}"

    # The counter and the count have no axes as long as the count has none.
    apart = if s["for"] != nil and not breaks, do: length(more), else: 0
    aligned = &"aligned(#{&1}, #{length(own)}, #{apart})"

    {before, all, again} =
      if context.vectorized do
        begun = for k <- 0..(length(all) - 1)//1, do: "start#{context.loop}_#{k}"
        before = ["{#{Enum.join(begun, ", ")}} = " <> aligned.("{#{Enum.map_join(all, ", ", &elem(&1, 1))}}")]

        {before, Enum.zip_with(all, begun, fn {name, _, next}, start -> {name, start, next} end),
         aligned.(again)}
      else
        {[], all, again}
      end

    start =
      Enum.map_join(all, ", ", fn {name, start, _} ->
        if start == name, do: name, else: "#{name} = #{start}"
      end)

    lines = before ++ ["{#{left}} =", "while {#{start}}, #{test} do"] ++ lines ++ [again, "end"]
    {lines, MapSet.union(bound, MapSet.new(carries))}
  end

  # The value of a name; zeros where a branch that was left early gave it none, as nobody reads it then.
  defp read("@alive" <> _ = flag, _, _), do: name(flag)
  defp read("@broken" <> _ = flag, _, _), do: name(flag)

  defp read(name, bound, context) do
    {dtype, shape} = context.types[name]

    if MapSet.member?(bound, name),
      do: name(name),
      else: "Nx.broadcast(Nx.tensor(0, type: #{dtype(dtype, context)}), #{tuple(shape)})"
  end

  # The flags that a branch may set.
  defp flags(%{"then" => then} = s, context) do
    for inner <- then ++ Map.get(s, "else", []),
        flag <- flags_of(inner, context),
        into: MapSet.new(),
        do: flag
  end

  defp flags_of("break", context), do: ["@alive#{context.loop}", "@broken#{context.loop}"]
  defp flags_of("continue", context), do: ["@alive#{context.loop}"]
  defp flags_of(%{"if" => _} = s, context), do: flags(s, context)
  defp flags_of(_, _), do: []

  defp exits?(s), do: s |> flags_of(%{loop: 0}) |> Enum.any?()

  defp assigned(statements) do
    for s <- statements, name <- assigned_by(s), into: MapSet.new(), do: name
  end

  defp assigned_by(exit) when is_binary(exit), do: []
  defp assigned_by(%{"assign" => name}), do: [name]
  defp assigned_by(%{"if" => _} = s), do: Enum.concat(assigned(s["then"]), assigned(s["else"]))
  defp assigned_by(s), do: assigned(s["body"] || s["repeat"])

  # Expressions

  # A value that has a type of its own.
  defp value(%{"op" => _} = call, context), do: call(call, context)
  defp value("@" <> _ = flag, _), do: name(flag)
  defp value(name, _) when is_binary(name), do: name(name)

  defp value(%{"array" => dtype, "shape" => shape, "values" => values}, context),
    do: constant(dtype, shape, values, context)

  defp value(literal, context) do
    [{dtype, value}] = Map.to_list(literal)
    constant(dtype, [], [value], context)
  end

  defp constant(dtype, shape, values, context) do
    texts = Enum.map(values, &entry(&1, dtype))
    if 0 in shape, do: raise(Kit.Unsupported, "Nx has no arrays without entries")
    "Nx.tensor(#{nested(texts, shape)}, type: #{dtype(dtype, context)})"
  end

  defp entry(value, "float"), do: value |> Kit.Tensor.float() |> inspect()
  defp entry(value, "bool"), do: if(value, do: "1", else: "0")
  defp entry(value, _), do: to_string(value)

  defp nested([text], []), do: text
  defp nested(texts, [_]), do: "[#{Enum.join(texts, ", ")}]"

  defp nested(texts, [_ | rest]),
    do: "[#{texts |> Enum.chunk_every(Enum.product(rest)) |> Enum.map_join(", ", &nested(&1, rest))}]"

  # Operands of arithmetic: a literal stays a number beside a tensor.
  defp operands(args, context) do
    literals = Enum.map(args, &match?(%{"float" => v} when is_float(v), &1))
    strong = Enum.all?(literals)

    for {arg, literal} <- Enum.zip(args, literals) do
      if literal and not strong, do: entry(arg["float"], "float"), else: value(arg, context)
    end
  end

  defp call(%{"op" => op, "args" => args, "params" => params, "type" => type}, context) do
    {kind, sizes} = Kit.Program.type(type)
    if 0 in sizes, do: raise(Kit.Unsupported, "Nx has no arrays without entries")
    types = Enum.map(args, &Kit.Program.type_of(&1, context.types))

    texts =
      if op in ~w(add subtract multiply divide pow),
        do: operands(args, context),
        else: Enum.map(args, &value(&1, context))

    write(op, texts, types, params, {kind, sizes}, args, context)
  end

  # The operands of select are stretched to the shape of its condition, and not the other way round.
  defp write("where", [c, a, b], [{_, shape} | _], _, {_, sizes}, _, _) when shape != [] and shape != sizes,
    do: "Nx.select(Nx.broadcast(#{c}, #{tuple(sizes)}), #{a}, #{b})"

  defp write(op, texts, _, _, _, _, _) when is_map_key(@functions, op),
    do: "Nx.#{@functions[op]}(#{Enum.join(texts, ", ")})"

  defp write(op, [x], _, %{"axis" => axis}, _, _, _) when is_map_key(@scans, op),
    do: "Nx.#{@scans[op]}(#{x}, axis: #{axis})"

  defp write(op, [x], [{_, shape}], params, _, _, _) when is_map_key(@reductions, op) do
    axes = axes(params["axis"], length(shape))
    keep = if params["keepdims"], do: ", keep_axes: true", else: ""

    if axes == [] and op not in ["all", "any"],
      do: x,
      else: "Nx.#{@reductions[op]}(#{x}, axes: #{inspect(axes)}#{keep})"
  end

  defp write("integer_pow", [x], _, %{"n" => n}, _, _, _), do: "Nx.pow(#{x}, #{n})"

  # Nx.clip takes numbers.
  defp write("clip", [x, lower, upper], _, _, _, [_, %{"float" => _}, %{"float" => _}], _),
    do: "Nx.clip(#{x}, #{lower}, #{upper})"

  defp write("clip", [x, lower, upper], _, _, _, _, _), do: "Nx.min(Nx.max(#{x}, #{lower}), #{upper})"
  # of the divisor's sign
  defp write("remainder", [a, b], _, _, _, _, _),
    do: "Nx.remainder(Nx.add(Nx.remainder(#{a}, #{b}), #{b}), #{b})"

  defp write(op, [x], _, %{"axis" => axis}, _, _, _) when op in ["softmax", "log_softmax"] do
    text = "Nx.subtract(#{x}, Nx.logsumexp(#{x}, axes: [#{axis}], keep_axes: true))"
    if op == "softmax", do: "Nx.exp(#{text})", else: text
  end

  defp write(op, [x], _, %{"axis" => nil}, {_, sizes}, _, _) when op in ["argmax", "argmin"],
    do: "Nx.as_type(Nx.reshape(Nx.#{op}(#{x}), #{tuple(sizes)}), :s64)"

  defp write(op, [x], _, %{"axis" => axis, "keepdims" => keep}, _, _, _) when op in ["argmax", "argmin"],
    do: "Nx.as_type(Nx.#{op}(#{x}, axis: #{axis}, keep_axis: #{keep}), :s64)"

  defp write("argsort", [x], _, %{"axis" => axis}, _, _, _),
    do: "Nx.as_type(Nx.argsort(#{x}, axis: #{axis}, stable: true), :s64)"

  defp write("sort", [x], _, %{"axis" => axis}, _, _, _), do: "Nx.sort(#{x}, axis: #{axis})"
  defp write("astype", [x], [{own, _}], %{"dtype" => own}, _, _, _), do: x
  defp write("astype", [x], _, %{"dtype" => "bool"}, _, _, _), do: "Nx.not_equal(#{x}, 0)"

  defp write("astype", [x], _, %{"dtype" => dtype}, _, _, context),
    do: "Nx.as_type(#{x}, #{dtype(dtype, context)})"

  defp write("reshape", [x], _, _, {_, sizes}, _, _), do: "Nx.reshape(#{x}, #{tuple(sizes)})"
  defp write("broadcast_to", [x], _, _, {_, sizes}, _, _), do: "Nx.broadcast(#{x}, #{tuple(sizes)})"
  defp write("permute_dims", [x], _, %{"axes" => []}, _, _, _), do: x

  defp write("permute_dims", [x], _, %{"axes" => axes}, _, _, _),
    do: "Nx.transpose(#{x}, axes: #{inspect(axes, charlists: :as_lists)})"

  defp write("flip", [x], _, %{"axis" => axis}, _, _, _), do: "Nx.reverse(#{x}, axes: [#{axis}])"

  defp write("concat", texts, _, %{"axis" => axis}, _, _, _),
    do: "Nx.concatenate([#{Enum.join(texts, ", ")}], axis: #{axis})"

  defp write("stack", texts, _, %{"axis" => axis}, _, _, _),
    do: "Nx.stack([#{Enum.join(texts, ", ")}], axis: #{axis})"

  defp write("take", [x, indices], _, %{"axis" => axis}, _, _, _),
    do: "Nx.take(#{x}, #{indices}, axis: #{axis})"

  defp write(op, [x], _, %{"k" => k}, _, _, _) when op in ["tril", "triu"], do: "Nx.#{op}(#{x}, k: #{k})"
  defp write("diagonal", [x], _, %{"offset" => k}, _, _, _), do: "Nx.take_diagonal(#{x}, offset: #{k})"
  defp write("index", [x | _], [{_, []} | _], _, _, _, _), do: x

  defp write("index", [x | texts], [{_, shape} | _], %{"pattern" => pattern}, _, [_ | args], _) do
    places =
      for {entry, start, _} <- places(pattern, texts, args, shape),
          do: if(entry == "at", do: start, else: range(entry))

    "#{x}[[#{Enum.join(places, ", ")}]]"
  end

  defp write("index_update", [_, new | _], [{_, []} | _], _, _, _, _), do: new

  defp write("index_update", [x, new | texts], [{_, shape} | _], params, _, [_, _ | args], _) do
    found = places(params["pattern"], texts, args, shape)
    starts = Enum.map_join(found, ", ", &elem(&1, 1))
    "Nx.put_slice(#{x}, [#{starts}], Nx.reshape(#{new}, #{found |> Enum.map(&elem(&1, 2)) |> tuple()}))"
  end

  defp write("matmul", [a, b], [{_, p}, {_, q}], _, _, _, _)
       when length(q) <= 2 and (length(p) <= 2 or length(q) in [1, 2]),
       do: "Nx.dot(#{a}, #{b})"

  defp write("matmul", [a, b], [{_, p}, {_, q}], _, {_, sizes}, _, _) when length(p) >= 2 do
    n = length(sizes) - 2
    batch = Enum.take(sizes, n)
    [a, b] = for {x, s} <- [{a, p}, {b, q}], do: "Nx.broadcast(#{x}, #{tuple(batch ++ Enum.take(s, -2))})"
    along = inspect(Enum.to_list(0..(n - 1)//1), charlists: :as_lists)
    "Nx.dot(#{a}, [#{n + 1}], #{along}, #{b}, [#{n}], #{along})"
  end

  defp write("cholesky", [x], [{_, s}], %{"upper" => upper}, _, _, _) do
    text = "Nx.LinAlg.cholesky(#{symmetric(x, s)})"
    if upper, do: transposed(text, s), else: text
  end

  defp write("det", [x], _, _, _, _, _), do: "Nx.LinAlg.determinant(#{x})"
  defp write("inv", [x], _, _, _, _, _), do: "Nx.LinAlg.invert(#{x})"
  defp write("eigvalsh", [x], [{_, s}], _, _, _, context), do: "elem(#{eigh(x, s, context)}, 0)"

  defp write("eigh", [x], [{_, s}], %{"part" => part}, _, _, context),
    do: "elem(#{eigh(x, s, context)}, #{part})"

  defp write("svdvals", [x], _, _, _, _, _), do: "elem(Nx.LinAlg.svd(#{x}, full_matrices?: false), 1)"

  defp write("svd", [x], _, params, _, _, _),
    do: "elem(Nx.LinAlg.svd(#{x}, full_matrices?: #{params["full_matrices"]}), #{params["part"]})"

  defp write("qr", [x], _, params, _, _, _),
    do: "elem(Nx.LinAlg.qr(#{x}, mode: :#{params["mode"]}), #{params["part"]})"

  # The documentation says so, and of least_squares that it takes one matrix and one vector.
  defp write("lu", [x], [{_, shape}], params, _, _, _) do
    if match?([m, n] when m != n, Enum.take(shape, -2)),
      do: raise(Kit.Unsupported, "Nx.LinAlg.lu takes square matrices")

    "elem(Nx.LinAlg.lu(#{x}), #{params["part"]})"
  end

  # In Nx a matrix beside a stack of matrices is a stack of vectors.
  defp write("solve", [a, b], [{_, p}, {_, [n]}], _, _, _, _),
    do: "Nx.LinAlg.solve(#{a}, #{spread(b, [n], Enum.drop(p, -1))})"

  defp write("solve", [a, b], [{_, p}, {_, q}], _, _, _, _) do
    [a, b] = stacks([{a, p}, {b, q}])
    "Nx.LinAlg.solve(#{a}, #{b})"
  end

  defp write("triangular_solve", [a, b], [{_, p}, {_, q}], params, _, _, _) do
    {triangle, k} = if params["lower"], do: {"tril", -1}, else: {"triu", 1}

    a =
      if params["unit_diagonal"],
        do: "Nx.add(Nx.#{triangle}(#{a}, k: #{k}), Nx.eye(#{List.last(p)}))",
        else: a

    transform = if params["transposed"], do: ", transform_a: :transpose", else: ""
    side = if params["left"], do: "", else: ", left_side: false"
    [a, b] = if length(q) == 1, do: [a, b], else: stacks([{a, p}, {b, q}])
    "Nx.LinAlg.triangular_solve(#{a}, #{b}, lower: #{params["lower"]}#{transform}#{side})"
  end

  defp write("pinv", [x], _, _, _, _, _), do: "Nx.LinAlg.pinv(#{x})"

  defp write("lstsq", [a, b], [{_, [_, _]}, {_, [_]}], _, _, _, _), do: "Nx.LinAlg.least_squares(#{a}, #{b})"

  defp write("lstsq", _, _, _, _, _, _),
    do: raise(Kit.Unsupported, "Nx.LinAlg.least_squares takes one matrix and one vector")

  defp write("matrix_power", [x], _, %{"n" => n}, _, _, _), do: "Nx.LinAlg.matrix_power(#{x}, #{n})"
  defp write("slogdet", [x], _, %{"part" => 0}, _, _, _), do: "Nx.sign(Nx.LinAlg.determinant(#{x}))"
  defp write("slogdet", [x], _, %{"part" => 1}, _, _, _), do: "Nx.log(Nx.abs(Nx.LinAlg.determinant(#{x})))"

  defp write("trace", [x], _, %{"offset" => k}, _, _, _),
    do: "Nx.sum(Nx.take_diagonal(#{x}, offset: #{k}), axes: [-1])"

  defp write("kron", [a, b], [{_, p}, {_, q}], _, {_, sizes}, _, _) do
    {[m, n], [k, l]} = {Enum.take(p, -2), Enum.take(q, -2)}
    left = "Nx.reshape(#{a}, #{tuple(Enum.drop(p, -2) ++ [m, 1, n, 1])})"
    right = "Nx.reshape(#{b}, #{tuple(Enum.drop(q, -2) ++ [1, k, 1, l])})"
    "Nx.reshape(Nx.multiply(#{left}, #{right}), #{tuple(sizes)})"
  end

  # Its `axes` are for the 2-norm alone. Of a stack it says that it takes none.
  defp write("matrix_norm", [x], _, params, _, _, _) do
    order = %{"fro" => ":frobenius", "nuc" => ":nuclear", "inf" => ":inf", "-inf" => ":neg_inf"}
    keep = if params["keepdims"], do: ", keep_axes: true", else: ""
    "Nx.LinAlg.norm(#{x}, ord: #{Map.get(order, to_string(params["ord"]), params["ord"])}#{keep})"
  end

  defp write("vector_norm", [x], [{_, []}], _, _, _, _), do: "Nx.abs(#{x})"

  defp write("vector_norm", [x], [{_, shape}], params, _, _, _) do
    axes = axes(params["axis"], length(shape))
    keep = if params["keepdims"], do: ", keep_axes: true", else: ""
    vector_norm(x, shape, axes, to_string(params["ord"]), keep)
  end

  defp write("window_sum", [x], [{_, shape}], params, _, _, _),
    do: "Nx.window_sum(#{x}, #{tuple(params["window"])}, #{stepping(params, length(shape))})"

  defp write("conv", [x, kernel], [{_, shape} | _], params, _, _, _),
    do: "Nx.conv(#{x}, #{kernel}, #{stepping(params, length(shape) - 2)})"

  # Nothing is broadcast here by itself.
  defp write("take_along_axis", [x, places], [{_, p}, {_, q}], %{"axis" => axis}, {_, sizes}, _, _) do
    axis = Integer.mod(axis, length(sizes))
    whole = List.replace_at(sizes, axis, Enum.at(p, axis))
    "Nx.take_along_axis(#{spread(x, p, whole)}, #{spread(places, q, sizes)}, axis: #{axis})"
  end

  # The axis comes first, and the indices form one column.
  defp write("scatter_add", [x, places, updates], [{_, p}, {_, q}, {_, r}], %{"axis" => axis}, _, _, _) do
    axis = Integer.mod(axis, length(p))
    front = [axis | Enum.to_list(0..(length(p) - 1)//1) -- [axis]]
    own = Enum.to_list(axis..(axis + length(q) - 1)//1)
    rows = own ++ (Enum.to_list(0..(length(r) - 1)//1) -- own)
    moved = &if(axis == 0, do: &1, else: "Nx.transpose(#{&1}, axes: #{inspect(&2, charlists: :as_lists)})")
    count = Enum.product(q)
    added = "Nx.reshape(#{moved.(updates, rows)}, #{tuple([count | List.delete_at(p, axis)])})"
    column = "Nx.reshape(#{places}, {#{count}, 1})"
    result = "Nx.indexed_add(#{moved.(x, front)}, #{column}, #{added}, axes: [0])"
    moved.(result, Enum.map(0..(length(p) - 1)//1, fn k -> Enum.find_index(front, &(&1 == k)) end))
  end

  defp write(op, _, _, _, _, _, _), do: raise(Kit.Unsupported, "there is no such form of #{op} here")

  # It stops at an error of 1.0e-4 unless it is told otherwise.
  defp eigh(x, shape, context) do
    eps = if context.float == ":f64", do: "1.0e-14", else: "1.0e-7"
    "Nx.LinAlg.eigh(#{symmetric(x, shape)}, eps: #{eps})"
  end

  # By Nx.LinAlg.norm where it has such a norm, as people write it otherwise.
  defp vector_norm(x, [_], _, "inf", keep), do: "Nx.LinAlg.norm(#{x}, ord: :inf#{keep})"
  defp vector_norm(x, [_], _, "-inf", keep), do: "Nx.LinAlg.norm(#{x}, ord: :neg_inf#{keep})"
  defp vector_norm(x, [_], _, order, keep), do: "Nx.LinAlg.norm(#{x}, ord: #{order}#{keep})"
  defp vector_norm(x, [_, _], axes, "2", keep), do: "Nx.LinAlg.norm(#{x}, axes: #{inspect(axes)}#{keep})"

  defp vector_norm(x, _, axes, order, keep) do
    over = "axes: #{inspect(axes, charlists: :as_lists)}#{keep}"

    case order do
      "inf" -> "Nx.reduce_max(Nx.abs(#{x}), #{over})"
      "-inf" -> "Nx.reduce_min(Nx.abs(#{x}), #{over})"
      "0" -> "Nx.sum(Nx.not_equal(#{x}, 0), #{over})"
      "1" -> "Nx.sum(Nx.abs(#{x}), #{over})"
      "2" -> "Nx.sqrt(Nx.sum(Nx.multiply(#{x}, #{x}), #{over}))"
      _ -> "Nx.pow(Nx.sum(Nx.pow(Nx.abs(#{x}), #{order}), #{over}), 1 / #{order})"
    end
  end

  # A tensor in a shape that it is broadcast to, and stacks of matrices with all their batch axes.
  defp spread(x, shape, shape), do: x
  defp spread(x, _, shape), do: "Nx.broadcast(#{x}, #{tuple(shape)})"

  defp stacks(texts) do
    batches = Enum.map(texts, fn {_, shape} -> shape |> Enum.drop(-2) |> Enum.reverse() end)
    rank = batches |> Enum.map(&length/1) |> Enum.max()
    padded = Enum.map(batches, &(&1 ++ List.duplicate(1, rank - length(&1))))
    batch = padded |> Enum.zip_with(&Enum.max/1) |> Enum.reverse()
    for {x, shape} <- texts, do: spread(x, shape, batch ++ Enum.take(shape, -2))
  end

  # The options of a window along so many axes.
  defp stepping(params, count) do
    strides = params["strides"] || List.duplicate(1, count)
    padding = params["padding"] || List.duplicate([0, 0], count)
    pairs = Enum.map_join(padding, ", ", &tuple/1)
    "strides: #{inspect(List.wrap(strides), charlists: :as_lists)}, padding: [#{pairs}]"
  end

  defp transposed(x, shape) do
    n = length(shape)

    axes = Enum.to_list(0..(n - 3)//1) ++ [n - 1, n - 2]
    "Nx.transpose(#{x}, axes: #{inspect(axes, charlists: :as_lists)})"
  end

  defp symmetric(x, shape), do: "Nx.divide(Nx.add(#{x}, #{transposed(x, shape)}), 2)"

  # For each axis: the entry of the pattern, where it starts, how long it is. A negative index counts from the
  # end, where Nx would clamp it.
  defp places([], _, _, []), do: []

  defp places(["at" | pattern], [text | texts], [arg | args], [size | shape]) do
    start =
      case arg do
        %{"int" => n} -> to_string(Integer.mod(n, size))
        _ -> "Nx.select(Nx.less(#{text}, 0), Nx.add(#{text}, #{size}), #{text})"
      end

    [{"at", start, 1} | places(pattern, texts, args, shape)]
  end

  defp places([["slice", start, stop] = entry | pattern], texts, args, [_ | shape]) do
    if start == stop, do: raise(Kit.Unsupported, "Nx has no arrays without entries")
    [{entry, to_string(start), stop - start} | places(pattern, texts, args, shape)]
  end

  defp range(["slice", start, stop]), do: "#{start}..#{stop - 1}//1"
  defp axes(nil, rank), do: Enum.to_list(0..(rank - 1)//1)
  defp axes(axis, _), do: List.wrap(axis)
  defp tuple(sizes), do: "{#{Enum.join(sizes, ", ")}}"
end

defmodule NxLayout do
  @moduledoc """
  How the points of a question lie along named axes. Where they are a grid, in row-major order, an input that
  varies along its rows alone has the axis :a, one that varies along its columns alone the axis :b; elsewhere
  there is one axis, :a. An input that is the same at all points has none.
  """

  @doc "The sizes of the axes, as [a: 2, b: 3], and the axes of each input. `columns`: its values, by name."
  def of(columns, count) do
    kinds =
      Map.new(columns, fn {name, values} ->
        {name, for(v <- values, do: Enum.find_index(values, &(&1 === v)))}
      end)

    sizes = for rows <- 2..div(count, 2)//1, rem(count, rows) == 0, do: rows
    Enum.find_value(sizes, line(kinds, count), &grid(kinds, &1, div(count, &1)))
  end

  defp line(kinds, count) do
    varying = for {name, kind} <- kinds, Enum.any?(kind, &(&1 != 0)), do: name

    {[a: count],
     Map.new(kinds, fn {name, _} -> {name, if(varying == [] or name in varying, do: [:a], else: [])} end)}
  end

  defp grid(kinds, rows, columns) do
    axes =
      Map.new(kinds, fn {name, kind} ->
        table = Enum.chunk_every(kind, columns)
        a = if Enum.any?(table, &(&1 != hd(table))), do: [:a], else: []
        b = if Enum.any?(table, fn row -> Enum.any?(row, &(&1 != hd(row))) end), do: [:b], else: []
        {name, a ++ b}
      end)

    if [[:a], [:b]] -- Map.values(axes) == [], do: {[a: rows, b: columns], axes}
  end

  @doc "The indices along the axes, of each point."
  def places(a: n), do: for(k <- 0..(n - 1)//1, do: [a: k])
  def places(a: n, b: m), do: for(k <- 0..(n - 1)//1, j <- 0..(m - 1)//1, do: [a: k, b: j])
end

defmodule NxWay do
  @moduledoc "The ways into Nx."

  @seconds 5

  def all do
    for {name, hints} <- [
          {"while", %{}},
          {"grad", %{variant: true, stride: 4}},
          {"vectorize", %{together: true, stride: 4}}
        ] do
      Kit.way(%{
        name: name,
        ops: for(op <- NxSource.ops(), not lacks?(op), into: %{}, do: {op, nil}),
        dtypes: ["float64", "float32", "bfloat16", "float16"],
        orders: [0, 1, 2, 3],
        hints: hints,
        compile: fn form, dtype, _limit -> compile(form, dtype, name == "vectorize") end,
        answer: &answer/4
      })
    end
  end

  # Whether this release of Nx has no such function.
  defp lacks?(op) do
    name = NxSource.function(op)
    name != nil and not Enum.any?(1..3, &function_exported?(Nx, String.to_atom(name), &1))
  end

  def compile(form, dtype, vectorized) do
    if Enum.any?(Map.values(form["variables"]), &String.starts_with?(&1, "complex")),
      do: raise(Kit.Unsupported, "complex numbers are not asked about in Nx")

    module = "Program#{System.unique_integer([:positive])}"
    {module, NxSource.source(module, form, dtype, vectorized), Enum.map(form["params"], &hd/1)}
  end

  def answer(way, {name, source, params}, request, inputs) do
    task =
      Task.async(fn ->
        module = Module.concat([name])

        compiled =
          try do
            Code.ensure_loaded?(module) or Code.compile_string(source)
            nil
          rescue
            error -> Kit.arm(error)
          end

        cond do
          compiled ->
            List.duplicate(compiled, request["count"])

          way.name == "vectorize" ->
            together(request, inputs, module, params)

          true ->
            Kit.each_point(request, inputs, fn here, weights, directions ->
              here = Map.new(here, fn {name, tensor} -> {name, array(tensor)} end)
              {outputs, gradient} = asked(way.name, here, weights, directions, module, params, request)
              {Enum.map(outputs, &entries/1), Enum.map(gradient, &entries/1)}
            end)
        end
      end)

    seconds = @seconds + request["count"]

    case Task.yield(task, 1000 * seconds) || Task.shutdown(task, :brutal_kill) do
      {:ok, results} -> results
      nil -> List.duplicate(%{unsupported: "no answer after #{seconds} s"}, request["count"])
    end
  end

  # All points in one call. What it raises is the answer at all of them.
  defp together(request, inputs, module, params) do
    count = request["count"]

    columns =
      Map.new(inputs, fn {name, {dtype, [_ | shape], entries}} ->
        {name, for(part <- parts(entries, count), do: {dtype, shape, part})}
      end)

    {sizes, axes} = NxLayout.of(columns, count)
    places = NxLayout.places(sizes)
    whole = Map.new(columns, fn {name, values} -> {name, vectorized(values, places, sizes, axes[name])} end)

    # The weights and the directions are those of every point.
    alone =
      request |> Map.put("count", 1) |> Kit.each_point(first(inputs, count), fn _, w, d -> {[{w, d}], []} end)

    with [{:ok, [{weights, directions}], _}] <- alone do
      {outputs, gradient} = asked("vectorize", whole, weights, directions, module, params, request)

      {outputs, gradient} =
        {Enum.map(outputs, &instances(&1, places)), Enum.map(gradient, &instances(&1, places))}

      for k <- 0..(count - 1)//1 do
        slopes = gradient |> Enum.map(&Enum.at(&1, k)) |> then(&Enum.zip(request["wrt"], &1)) |> Map.new()
        {:ok, Enum.map(outputs, &Enum.at(&1, k)), slopes}
      end
    else
      [arm] -> List.duplicate(arm, count)
    end
  rescue
    error in Kit.BadRequest -> reraise(error, __STACKTRACE__)
    error -> List.duplicate(Kit.arm(error), request["count"])
  end

  defp parts([], count), do: List.duplicate([], count)
  defp parts(entries, count), do: Enum.chunk_every(entries, div(length(entries), count))

  defp first(inputs, count) do
    Map.new(inputs, fn {name, {dtype, [_ | shape], entries}} ->
      {name, {dtype, [1 | shape], hd(parts(entries, count))}}
    end)
  end

  # The values along the axes of an input, which are in front.
  defp vectorized(values, places, sizes, axes) do
    {dtype, shape, _} = hd(values)

    own =
      for {value, place} <- Enum.zip(values, places),
          Enum.all?(place, fn {a, k} -> a in axes or k == 0 end),
          do: value

    tensor = array({dtype, Enum.map(axes, &sizes[&1]) ++ shape, Enum.flat_map(own, &elem(&1, 2))})
    Enum.reduce(axes, tensor, &Nx.vectorize(&2, &1))
  end

  # A result at each point; one that lacks an axis is the same along it.
  defp instances(tensor, places) do
    {dtype, _, flat} = entries(Nx.devectorize(tensor))
    shape = tensor |> Nx.shape() |> Tuple.to_list()
    parts = Enum.chunk_every(flat, Enum.product(shape))

    for place <- places do
      k = Enum.reduce(tensor.vectorized_axes, 0, fn {axis, n}, k -> k * n + Keyword.fetch!(place, axis) end)
      {dtype, shape, Enum.at(parts, k)}
    end
  end

  # The outputs and the derivative, as tensors. Everything is traced in one function of all inputs: Nx
  # differentiates no tensor that is none of its expressions.
  defp asked(way, here, weights, directions, module, params, request) do
    wrt = request["wrt"]
    {weights, directions} = {Enum.map(weights, &(&1 && array(&1))), Enum.map(directions, &array/1)}
    {xs, rest} = {tensors(wrt, here), tensors(params -- wrt, here)}

    run = fn xs, rest ->
      env = Map.new(Enum.zip(wrt ++ (params -- wrt), Tuple.to_list(xs) ++ Tuple.to_list(rest)))
      apply(module, :f, Enum.map(params, &env[&1]))
    end

    along = fn rest ->
      objective = fn xs -> run.(xs, rest) |> Tuple.to_list() |> Enum.zip(weights) |> total() end

      Enum.reduce(Enum.drop(request["modes"], 1), objective, fn _, g ->
        fn xs -> Nx.Defn.grad(xs, g) |> Tuple.to_list() |> Enum.zip(directions) |> total() end
      end)
    end

    cond do
      request["modes"] == [] ->
        {Nx.Defn.jit_apply(run, [xs, rest]) |> Tuple.to_list(), []}

      way == "grad" ->
        outputs = Nx.Defn.jit_apply(run, [xs, rest])
        gradient = Nx.Defn.jit_apply(fn xs, rest -> Nx.Defn.grad(xs, along.(rest)) end, [xs, rest])
        {Tuple.to_list(outputs), Tuple.to_list(gradient)}

      true ->
        traced = fn xs, rest ->
          Nx.Defn.value_and_grad(xs, fn xs -> {run.(xs, rest), along.(rest).(xs)} end, &elem(&1, 1))
        end

        {{outputs, _}, gradient} = Nx.Defn.jit_apply(traced, [xs, rest])
        {Tuple.to_list(outputs), Tuple.to_list(gradient)}
    end
  rescue
    error in RuntimeError ->
      # as the gradient of svd of a wide matrix
      if error.message =~ "not implemented",
        do: raise(Kit.Unsupported, "Nx: " <> error.message),
        else: reraise(error, __STACKTRACE__)
  end

  defp tensors(names, here), do: names |> Enum.map(&here[&1]) |> List.to_tuple()

  defp total(pairs) do
    # A scalar is not summed: where it is vectorized, that alone raises in Nx 0.11.
    terms =
      for {y, w} <- pairs,
          w != nil,
          do: if(Nx.shape(w) == {}, do: Nx.multiply(y, w), else: Nx.sum(Nx.multiply(y, w)))

    if terms == [], do: Nx.tensor(0.0), else: Enum.reduce(terms, &Nx.add(&2, &1))
  end

  @types %{
    "float64" => {:f, 64},
    "float32" => {:f, 32},
    "bfloat16" => {:bf, 16},
    "float16" => {:f, 16},
    "int64" => {:s, 64},
    "bool" => {:u, 8}
  }
  @names Map.new(@types, fn {name, type} -> {type, name} end)

  defp array({dtype, shape, entries}) do
    if 0 in shape, do: raise(Kit.Unsupported, "Nx has no arrays without entries")
    numbers = if dtype == "bool", do: Enum.map(entries, &if(&1, do: 1, else: 0)), else: entries
    Nx.reshape(Nx.tensor(numbers, type: @types[dtype]), List.to_tuple(shape))
  end

  # As it is: Nx returns some gradients in another type than the input's.
  defp entries(tensor) do
    {kind, bits} = type = Nx.type(tensor)
    name = @names[type] || %{s: "int", u: "uint", f: "float", c: "complex"}[kind] <> to_string(bits)
    flat = Nx.to_flat_list(tensor)

    {name, tensor |> Nx.shape() |> Tuple.to_list(),
     if(name == "bool", do: Enum.map(flat, &(&1 != 0)), else: flat)}
  end
end

unless System.get_env("NX_ADAPTER_SOURCE_ONLY") do
  unless Code.ensure_loaded?(Nx), do: Mix.install([{:nx, System.get_env("NX_VERSION", "~> 0.10")}])
  Application.load(:nx)

  unless Application.get_env(:nx, :default_backend),
    do: Application.put_env(:nx, :default_backend, {Nx.BinaryBackend, []})

  unless Application.get_env(:nx, :default_defn_options),
    do: Application.put_env(:nx, :default_defn_options, [])

  Code.put_compiler_option(:ignore_module_conflict, true)

  Kit.serve(
    "nx",
    to_string(Application.spec(:nx, :vsn) || System.get_env("NX_VERSION", "unknown")),
    NxWay.all()
  )
end
