# An adapter to begin with: replace the toy by your library, and every line that says "yours".
#
# The toy is forward mode on scalars by dual numbers. Try it, then check yours in the same way:
#
#     gradfuzz targets check 'elixir toy_adapter.exs'
#     gradfuzz sweep 'cmd:elixir toy_adapter.exs'
#
# `kit.exs` lies beside this file; it speaks the protocol, walks the programs, and turns exceptions into answers.

Code.require_file("kit.exs", __DIR__)

defmodule Toy do
  # A number and its slope along one direction, {value, slope}. Yours: delete it, and load your library.

  # Yours: op of a program => function of operands and static parameters. Ops that are not here are unsupported. The operands
  # have the dtype that the op works in; docs/targets.md says what each op is given.
  def ops do
    %{
      "add" => fn [{a, da}, {b, db}], _ -> {a + b, da + db} end,
      "subtract" => fn [{a, da}, {b, db}], _ -> {a - b, da - db} end,
      "multiply" => fn [{a, da}, {b, db}], _ -> {a * b, da * b + a * db} end,
      "negative" => fn [{a, da}], _ -> {-a, -da} end,
      "sin" => fn [{a, da}], _ -> {:math.sin(a), :math.cos(a) * da} end,
      "cos" => fn [{a, da}], _ -> {:math.cos(a), -:math.sin(a) * da} end,
      "less" => fn [{a, _}, {b, _}], _ -> a < b end,
      "less_equal" => fn [{a, _}, {b, _}], _ -> a <= b end
    }
  end

  # Yours: a tensor of the library with these entries, in row-major order. Every float input and constant is made here.
  def array(_dtype, [], [entry]), do: {entry, 0.0}
  def array(_dtype, _shape, _entries), do: raise(Kit.Unsupported, "the toy has no arrays")

  # Yours: {dtype, shape, entries} of a tensor of the library, as it is: a wrong dtype or shape is for gradfuzz to see.
  def entries({value, _}), do: {"float64", [], [value]}

  # Yours: the outputs of `f.(xs)`, and a derivative of F = sum of <weight, output> for each of `xs`.
  #
  # A weight is nil for an output that takes no part. Every mode of `modes` but the last contracts with `directions`, one for each of
  # `xs`; the last one gives the gradient. Here there is one at most, and the toy has it by a run for each input.
  def differentiate(f, xs, _weights, _directions, []), do: {f.(xs), []}

  def differentiate(f, xs, weights, _directions, [_mode]) do
    gradient =
      for k <- 0..(length(xs) - 1) do
        duals = xs |> Enum.with_index() |> Enum.map(fn {{x, _}, j} -> {x, if(j == k, do: 1.0, else: 0.0)} end)
        slopes = for {y, {w, _}} <- Enum.zip(f.(duals), weights), do: elem(y, 1) * w
        {Enum.sum(slopes) * 1.0, 0.0}
      end

    {f.(xs), gradient}
  end
end

# One way into the library; give `serve` a map for each. `name` is what follows "mylib:" in the target's name; "" where there is one way only.
# Yours: what it can. Several orders and modes mean every sequence of them, from the innermost derivative to the outermost.
way =
  Kit.way(%{
    name: "",
    ops: Toy.ops(),
    dtypes: ["float64"],
    modes: ["fwd"],
    orders: [0, 1],
    array: &Toy.array/3,
    entries: &Toy.entries/1,
    differentiate: &Toy.differentiate/5
  })

# Yours: the library's name and its version.
Kit.serve("toy", "1.0", [way])
