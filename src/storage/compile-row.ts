/**
 * Compiles functions over the members of rows, from lists of names that are known at start. Each is as quick as if it were
 * written out; a loop over the names takes four times as long, and every call passes through several.
 *
 * Names come from the source (`columns.ts`) and nowhere else.
 */

type DefaultOf<Name> = (name: Name) => unknown;

/** compileValues returns a function that lists the values of some members, with their defaults for those that are undefined. */
export function compileValues<Row extends object, Value>(
  names: readonly (keyof Row & string)[],
  defaultOf: DefaultOf<keyof Row & string> = () => undefined,
): (row: Row) => Value[] {
  const values = names.map((name) => valueInRow(name, defaultOf));
  return compiled(["row"], `return [${values.join(", ")}];`);
}

/** compileAppend returns a function that appends the values of some members to a list. */
export function compileAppend<Row extends object, Value>(
  names: readonly (keyof Row & string)[],
): (list: Value[], row: Row) => void {
  const values = names.map((name) => member("row", name));
  return compiled(["list", "row"], `list.push(${values.join(", ")});`);
}

/** compileEquals returns a function that reports whether two rows have the same values of some members. */
export function compileEquals<Row extends object>(
  names: readonly (keyof Row & string)[],
): (one: Row, other: Row) => boolean {
  const equal = names.map((name) => `${member("one", name)} === ${member("other", name)}`);
  return compiled(["one", "other"], `return ${equal.join(" && ")};`);
}

/** compileAdd returns a function that adds the values of some members, or their defaults, to those of a sum. */
export function compileAdd<Name extends string>(
  names: readonly Name[],
  defaultOf: DefaultOf<Name> = () => undefined,
): (sum: Record<Name, number>, row: { readonly [name in Name]?: number }) => void {
  const additions = names.map((name) => `${member("sum", name)} += ${valueInRow(name, defaultOf)};`);
  return compiled(["sum", "row"], additions.join("\n"));
}

function valueInRow<Name extends string>(name: Name, defaultOf: DefaultOf<Name>): string {
  const value = defaultOf(name);
  return value === undefined ? member("row", name) : `(${member("row", name)} ?? ${JSON.stringify(value)})`;
}

function member(object: string, name: string): string {
  if (!/^[a-z_]+$/.test(name)) throw new Error(`${name} is no name of a column`);
  return `${object}.${name}`;
}

function compiled<F>(parameters: readonly string[], body: string): F {
  return new Function(...parameters, `"use strict"; ${body}`) as F;
}
