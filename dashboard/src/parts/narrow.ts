/** Tells whether the window is too narrow for a table, which is then shown as cards. */
import { useMediaQuery } from "@mantine/hooks";

/** useNarrow takes the table's width, such as `62em`. It is right from the first render on, so that nothing jumps. */
export function useNarrow(width: string): boolean {
  return useMediaQuery(`(max-width: ${width})`, false, { getInitialValueInEffect: false });
}
