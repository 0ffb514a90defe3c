# The 39 cases of nx_vectorized.json, as users of Nx.vectorize write them: prints a line for each, a map in
# Elixir's notation that is JSON, too. `python -m benchmarks.nx_vectorized` runs it and says what is right.

Application.put_env(:nx, :default_backend, {Nx.BinaryBackend, []})
Application.put_env(:nx, :default_defn_options, [])

defmodule Cases do
  import Nx.Defn

  defn cube(x) do
    one = x * 0.0 + 1.0

    {acc, _, _} =
      while {acc = one, x, i = 0}, i < 3 do
        {acc * x, x, i + 1}
      end

    acc
  end

  defn log_sum_exp(x), do: Nx.log(Nx.sum(Nx.exp(x)))
  defn second(x), do: x[1] ** 2

  defn sum_of_qr(x) do
    {q, r} = Nx.LinAlg.qr(x)
    Nx.sum(q) + Nx.sum(r)
  end

  defn eigenvalues(x) do
    {values, _} = Nx.LinAlg.eigh(x)
    values
  end

  def all do
    t = &Nx.tensor(&1, type: :f32)
    x = Nx.vectorize(t.([2.0, 5.0]), :foo)
    y = Nx.vectorize(t.([3.0, 4.0]), :bar)
    same = Nx.vectorize(t.([3.0, 4.0]), :foo)
    rows = Nx.vectorize(t.([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), :foo)
    squares = Nx.vectorize(t.([[[4.0, 2.0], [2.0, 5.0]], [[9.0, 3.0], [3.0, 10.0]]]), :batch)
    general = Nx.vectorize(t.([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]), :batch)
    product = fn {x, y} -> Nx.multiply(x, y) end
    sum_of_product = fn {x, y} -> Nx.sum(Nx.multiply(x, y)) end
    sum_of_squares = fn x -> Nx.sum(Nx.multiply(x, x)) end
    scalar = t.(1.5)

    [
      {"het mul sum(x*y)", {x, y}, sum_of_product},
      {"het mul no sum", {x, y}, product},
      {"het mul 2x3", {x, Nx.vectorize(t.([3.0, 4.0, 7.0]), :bar)}, product},
      {"het add", {x, y}, fn {x, y} -> Nx.add(x, y) end},
      {"het sin(add)", {x, y}, fn {x, y} -> Nx.sin(Nx.add(x, y)) end},
      {"het x^2*y", {x, y}, fn {x, y} -> Nx.multiply(Nx.pow(x, 2), y) end},
      {"same-axis mul", {x, same}, product},
      {"vec * nonvec scalar", {x, scalar}, product},
      {"vec inner dim sum(x*x)", rows, sum_of_squares},
      {"vec inner * scalar, sum", {rows, scalar}, sum_of_product},
      {"vec mean", rows, fn x -> Nx.mean(Nx.multiply(x, x)) end},
      {"vec softmax-like logsumexp", rows, &log_sum_exp/1},
      {"vec prod", rows, &Nx.product/1},
      {"vec max", rows, &Nx.reduce_max/1},
      {"vec second order x^3", x, fn x -> Nx.Defn.grad(x, &Nx.pow(&1, 3)) end},
      {"vec while x^3", x, &cube/1},
      {"value_and_grad vec", x, :value_and_grad},
      {"nonvec in, vec capture out", t.(3.0), fn s -> Nx.multiply(s, x) end},
      {"vec capture, vec target (same axis)", x, fn x -> Nx.multiply(Nx.multiply(x, x), same) end},
      {"devectorize inside, sum", rows, fn x -> Nx.sum(Nx.multiply(Nx.devectorize(x), 2.0)) end},
      {"devectorize then re-vectorize other name", rows,
       fn x -> x |> Nx.devectorize() |> Nx.vectorize(:other) |> Nx.multiply(3.0) |> Nx.sum() end},
      {"hidden vec rename a:4,b:2", Nx.vectorize(Nx.iota({4, 2, 3}, type: :f32), :batch),
       fn x -> x |> Nx.devectorize() |> Nx.vectorize(:a) |> Nx.vectorize(:b) |> Nx.sum() end},
      {"cross-instance: devectorize, cumulative product over batch", x,
       fn x -> Nx.cumulative_product(Nx.devectorize(x))[1] end},
      {"two vec axes sum(x*x)",
       Nx.iota({2, 2, 2}, type: :f32) |> Nx.add(1.0) |> Nx.vectorize(:a) |> Nx.vectorize(:b), sum_of_squares},
      {"vec qr", general, &sum_of_qr/1},
      {"vec cholesky", squares, &Nx.sum(Nx.LinAlg.cholesky(&1))},
      {"vec eigh sum(s)", squares, &Nx.sum(eigenvalues(&1))},
      {"vec eigh sum(s^2)", squares, &Nx.sum(Nx.pow(eigenvalues(&1), 2))},
      {"vec invert", squares, &Nx.sum(Nx.LinAlg.invert(&1))},
      {"vec triangular_solve", squares, &Nx.sum(Nx.LinAlg.triangular_solve(&1, t.([1.0, 1.0])))},
      {"vec determinant", squares, &Nx.LinAlg.determinant/1},
      {"vec gather/take", rows, &Nx.sum(Nx.take(&1, Nx.tensor([0, 2, 0])))},
      {"vec index a[1]", rows, &second/1},
      {"vec concatenate", rows, &Nx.sum(Nx.concatenate([&1, Nx.multiply(&1, 2.0)]))},
      {"vec sort weighted", Nx.vectorize(t.([[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]), :foo),
       &Nx.sum(Nx.multiply(Nx.sort(&1), t.([1.0, 10.0, 100.0])))},
      {"vec dot capture", rows, &Nx.dot(&1, t.([1.0, 2.0, 3.0]))},
      {"het outer via dot vec len3",
       {Nx.vectorize(t.([[1.0, 2.0], [3.0, 4.0]]), :foo),
        Nx.vectorize(t.([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]), :bar)}, fn {x, y} -> Nx.dot(x, y) end},
      {"het with unused second var", {x, y}, fn {x, _} -> Nx.multiply(x, x) end},
      {"clip grad", t.([2.0, 0.0, 5.0]), fn x -> Nx.sum(Nx.multiply(Nx.clip(x, 1.0, 4.0), 3.0)) end}
    ]
  end

  def asked(x, :value_and_grad), do: Nx.Defn.value_and_grad(x, &Nx.multiply(&1, &1))
  def asked(x, f), do: Nx.Defn.grad(x, f)

  def json(tensor) do
    axes = if tensor.vectorized_axes == [], do: "[]", else: inspect(tensor.vectorized_axes)
    ~s({"shape": "#{inspect(Nx.shape(tensor))}", "vec": "#{axes}", "values": ) <>
      inspect(Nx.to_flat_list(tensor), limit: :infinity) <> "}"
  end
end

for {name, at, f} <- Cases.all() do
  said =
    try do
      got = Cases.asked(at, f)
      parts = if is_tuple(got), do: Tuple.to_list(got), else: [got]
      ~s("gradients": [#{Enum.map_join(parts, ", ", &Cases.json/1)}])
    rescue
      error -> ~s("exception": "#{inspect(error.__struct__)}")
    end

  IO.puts(~s({"case": "#{name}", #{said}}))
end
