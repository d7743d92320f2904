/**
 * asked returns the text that a list is selected or continued by, or undefined where it is empty. Forms and queries have their empty
 * fields, too, and typed clients their zero values: an empty text asks for nothing.
 */
export function asked(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
