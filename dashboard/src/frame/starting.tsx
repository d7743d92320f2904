/** Starting is the window until the gateway has reported the signed-in user. It also shows that the gateway is unreachable. */
import { Center, Loader, Stack } from "@mantine/core";
import { useQueryErrorResetBoundary } from "@tanstack/react-query";
import { texts, useTexts } from "../language/language.tsx";
import { Failure } from "../parts/failure.tsx";

const said = texts({ starting: "Opening the dashboard" }, { starting: "正在打开控制台" });

export function Starting() {
  const t = useTexts(said);
  return (
    <Center h="100dvh">
      <Loader aria-label={t.starting} role="status" />
    </Center>
  );
}

export function Unreachable({ error, again }: { readonly error: unknown; readonly again: () => void }) {
  const { reset } = useQueryErrorResetBoundary();
  const retry = () => {
    reset();
    again();
  };
  return (
    <Center component="main" h="100dvh" p="md">
      <Stack maw={480}>
        <Failure error={error} retry={retry} />
      </Stack>
    </Center>
  );
}
