/** Turns the second factor off, given the password. */
import { useMutation } from "@connectrpc/connect-query";
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { notify } from "../../parts/notify.ts";
import { Password } from "../../parts/password.tsx";
import { Reason, refusalOf } from "../../refusal.ts";
import { useForgetUser } from "./forget.ts";

const said = texts(
  {
    title: "Turn off the second factor",
    about: "Your password alone then signs you in, and your recovery codes stop working.",
    wrong: "This is not your password",
    action: "Turn off",
    done: "The second factor is off",
  },
  {
    title: "停用两步验证",
    about: "停用后，仅凭密码即可登录，现有恢复代码也会失效。",
    wrong: "密码不正确",
    action: "停用",
    done: "两步验证已停用",
  },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function DisableSecondFactor({ opened, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Dialog opened={opened} onClose={onClose} title={t.title}>
      <Question onClose={onClose} />
    </Dialog>
  );
}

function Question({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts(said);
  const forgetUser = useForgetUser();
  const [password, setPassword] = useState("");
  const disable = useMutation(SessionService.method.disableSecondFactor, {
    onSuccess: () => {
      onClose();
      notify(t.done);
      return forgetUser();
    },
  });
  const wrong = disable.error && refusalOf(disable.error).reason === Reason.SIGN_IN_FAILED;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (password) disable.mutate({ password });
      }}
    >
      <Stack>
        <Text size="sm">{t.about}</Text>
        <Password
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={wrong && t.wrong}
          data-autofocus
        />
        {disable.error && !wrong && <Failure error={disable.error} />}
        <FormButtons action={t.action} busy={disable.isPending} disabled={!password} final onCancel={onClose} />
      </Stack>
    </form>
  );
}
