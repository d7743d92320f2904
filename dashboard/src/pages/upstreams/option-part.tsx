/** A part of an upstream's options, with a name of its own. */
import { Stack, Text } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import type { ReactNode } from "react";
import type { UpstreamValues } from "./upstream-values.ts";

export interface OptionProps {
  readonly form: Pick<UseFormReturnType<UpstreamValues>, "values" | "errors" | "getInputProps" | "setFieldValue">;
}

export function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Stack gap="sm" component="fieldset" bd={0} p={0} m={0}>
      <Text component="legend" fw={600} p={0} mb={4}>
        {title}
      </Text>
      {children}
    </Stack>
  );
}
