/**
 * Compiles functions over the members of rows, from lists of names that are known at start. Each is as quick as if it were
 * written out; a loop over the names takes four times as long, and every call passes through several.
 *
 * Names come from the source (`columns.ts`) and nowhere else.
 */

/** Returns a function that lists the values of some members, with their defaults for those that are undefined. */
export function compileValues<Row extends object, Value>(
  names: readonly (keyof Row & string)[],
  defaultOf: (name: keyof Row & string) => unknown = () => undefined,
): (row: Row) => Value[] {
  const values = names.map((name) => {
    const value = defaultOf(name);
    return value === undefined ? member("row", name) : `${member("row", name)} ?? ${JSON.stringify(value)}`;
  });
  return compiled(["row"], `return [${values.join(", ")}];`);
}

/** Returns a function that reports whether two rows have the same values of some members. */
export function compileEquals<Row extends object>(
  names: readonly (keyof Row & string)[],
): (one: Row, other: Row) => boolean {
  const equal = names.map((name) => `${member("one", name)} === ${member("other", name)}`);
  return compiled(["one", "other"], `return ${equal.join(" && ")};`);
}

/** Returns a function that adds the values of some members to those of a sum. */
export function compileAdd<Name extends string>(
  names: readonly Name[],
): (sum: Record<Name, number>, row: { readonly [name in Name]: number }) => void {
  return compiled(["sum", "row"], names.map((name) => `${member("sum", name)} += ${member("row", name)};`).join("\n"));
}

function member(object: string, name: string): string {
  if (!/^[a-z_]+$/.test(name)) throw new Error(`${name} is no name of a column`);
  return `${object}.${name}`;
}

function compiled<F>(parameters: readonly string[], body: string): F {
  return new Function(...parameters, `"use strict"; ${body}`) as F;
}
