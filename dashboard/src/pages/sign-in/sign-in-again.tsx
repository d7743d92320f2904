/** SignInAgain asks for the password over a page whose session has ended, and leaves what was typed there as it is. */
import { Button, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { keepsKeys } from "../../focus/kept-keys.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { useSession } from "../../session.tsx";
import { CodeForm } from "./code-form.tsx";
import { PasswordForm } from "./password-form.tsx";
import { useSignIn } from "./use-sign-in.ts";

const said = texts(
  {
    title: "Sign in again",
    about: "Your session has ended. What you have typed on the page is still there.",
    second: "The password is right. One more step is needed.",
    leave: "Leave this page",
  },
  {
    title: "请重新登录",
    about: "您的会话已结束。您在页面上输入的内容仍然保留。",
    second: "密码正确，还需要一步验证。",
    leave: "离开此页面",
  },
);

export default function SignInAgain({ email }: { readonly email: string }) {
  const t = useTexts(said);
  const client = useQueryClient();
  const { refresh } = useSession();
  const { known, passwordForm, codeForm } = useSignIn(() => client.invalidateQueries());
  return (
    <Dialog opened onClose={() => {}} deliberate hides title={t.title}>
      <Stack {...keepsKeys}>
        <Text size="sm">{known ? t.second : t.about}</Text>
        {known ? <CodeForm {...codeForm} /> : <PasswordForm {...passwordForm} email={email} />}
        <Button variant="subtle" color="gray" onClick={() => void refresh()}>
          {t.leave}
        </Button>
      </Stack>
    </Dialog>
  );
}
