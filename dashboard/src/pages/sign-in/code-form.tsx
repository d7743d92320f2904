/** The second step of the sign-in: the code of the authenticator app, or a recovery code instead. */
import { Anchor, Button, Group, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Refused } from "./refused.tsx";

const said = texts(
  {
    code: "Code",
    codeHint: "The six digits that your authenticator app shows",
    recovery: "Recovery code",
    recoveryHint: "One of the codes that you kept when you turned on the second factor. Each is good once.",
    wrong: "This code is wrong, or was used before. Try another.",
    useRecovery: "Use a recovery code",
    useApp: "Use the authenticator app",
    signIn: "Sign in",
    back: "Back",
  },
  {
    code: "验证码",
    codeHint: "身份验证器应用中显示的六位数字",
    recovery: "恢复代码",
    recoveryHint: "启用两步验证时保存的代码之一，每个只能使用一次。",
    wrong: "代码不正确或已被使用，请重新输入。",
    useRecovery: "使用恢复代码",
    useApp: "使用身份验证器应用",
    signIn: "登录",
    back: "返回",
  },
);

interface Props {
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSubmit: (code: string) => void;
  readonly onBack: () => void;
}

/** focus: this step replaces the form that had the focus. */
const focus = (field: HTMLInputElement | null) => field?.focus();

export function CodeForm({ busy, error, onSubmit, onBack }: Props) {
  const t = useTexts(said);
  const [recovery, setRecovery] = useState(false);
  const [code, setCode] = useState("");
  const change = () => {
    setRecovery(!recovery);
    setCode("");
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (code.trim()) onSubmit(recovery ? code.trim() : code.replaceAll(/\s/g, ""));
      }}
    >
      <Stack>
        <Refused error={error} wrong={t.wrong} />
        <TextInput
          key={String(recovery)}
          ref={focus}
          label={recovery ? t.recovery : t.code}
          description={recovery ? t.recoveryHint : t.codeHint}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoComplete={recovery ? "off" : "one-time-code"}
          {...(recovery ? { spellCheck: false } : { inputMode: "numeric" as const, maxLength: 10 })}
          required
          withAsterisk={false}
        />
        <Button type="submit" loading={busy} fullWidth>
          {t.signIn}
        </Button>
        <Group justify="space-between">
          <Anchor component="button" type="button" size="sm" underline="always" onClick={onBack}>
            {t.back}
          </Anchor>
          <Anchor component="button" type="button" size="sm" underline="always" onClick={change}>
            {recovery ? t.useApp : t.useRecovery}
          </Anchor>
        </Group>
      </Stack>
    </form>
  );
}
