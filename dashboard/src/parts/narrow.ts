/** Tells whether the window is a phone's, for what cannot go by the room that it has itself. */
import { useMediaQuery } from "@mantine/hooks";

/** useNarrow takes a width, such as `36em`. It is right from the first render on, so that nothing jumps. */
export function useNarrow(width: string): boolean {
  return useMediaQuery(`(max-width: ${width})`, false, { getInitialValueInEffect: false });
}
