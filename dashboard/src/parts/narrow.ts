/** Whether the window is too narrow for a table, which is drawn as cards then. */
import { useMediaQuery } from "@mantine/hooks";

/** `width` is what the table needs, as `62em`. Known from the first drawing on: nothing jumps. */
export function useNarrow(width: string): boolean {
  return useMediaQuery(`(max-width: ${width})`, false, { getInitialValueInEffect: false });
}
