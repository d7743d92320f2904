/** Turns the second factor on: a QR code for the app, a code that proves it, recovery codes to keep. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useEffect } from "react";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Waiting } from "../../parts/answer.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { useForgetUser } from "./forget.ts";
import { ScanStep } from "./scan-step.tsx";

const said = texts(
  {
    title: "Turn on the second factor",
    recovery: "Keep your recovery codes",
    why: "Each signs you in once when you do not have the app at hand. Keep them where nobody else finds them.",
    done: "I have kept them",
  },
  {
    title: "启用两步验证",
    recovery: "请保存恢复代码",
    why: "无法使用身份验证器应用时，每个代码可用于登录一次。请妥善保管，勿让他人获取。",
    done: "我已保存",
  },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function EnableSecondFactor({ opened, onClose }: Props) {
  const t = useTexts(said);
  const forgetUser = useForgetUser();
  const begin = useMutation(SessionService.method.beginSecondFactor);
  const enable = useMutation(SessionService.method.enableSecondFactor);
  const { mutate: ask, reset: forget } = begin;
  useEffect(() => {
    if (opened) ask({});
  }, [opened, ask]);
  const codes = enable.data?.recoveryCodes;
  const close = () => {
    onClose();
    forget();
    enable.reset();
    // Only now: the page shows that the factor is on after the codes have been read.
    if (codes) void forgetUser();
  };
  return (
    <Dialog opened={opened} onClose={close} title={codes ? t.recovery : t.title} deliberate={codes !== undefined}>
      {codes ? (
        <Stack>
          <Text size="sm">{t.why}</Text>
          <ShownOnce codes={codes} fileName="model-gateway-recovery-codes.txt" />
          <Group justify="flex-end">
            <Button onClick={close}>{t.done}</Button>
          </Group>
        </Stack>
      ) : begin.data ? (
        <ScanStep
          secret={begin.data.secret}
          uri={begin.data.uri}
          busy={enable.isPending}
          error={enable.error}
          onSubmit={(code, password) => enable.mutate({ code, password })}
          onCancel={close}
        />
      ) : begin.error ? (
        <Failure error={begin.error} retry={() => begin.mutate({})} />
      ) : (
        <Waiting lines={6} />
      )}
    </Dialog>
  );
}
