/** The QR code for the authenticator app, the secret for typing, and the field for the app's code. */
import { Center, Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { Password } from "../../parts/password.tsx";
import { Reason, refusalOf } from "../../refusal.ts";
import { QrPicture } from "./qr-picture.tsx";

const said = texts(
  {
    scan: "Scan the picture with your authenticator app.",
    picture: "QR code for the authenticator app",
    type: "Or type this into it:",
    secret: "secret",
    code: "Code",
    codeHint: "The six digits that the app shows then",
    wrong: "This is not the code that the app shows now",
    wrongPassword: "This is not your password",
    action: "Turn on",
  },
  {
    scan: "请使用身份验证器应用扫描二维码。",
    picture: "用于身份验证器应用的二维码",
    type: "或手动输入以下密钥：",
    secret: "密钥",
    code: "验证码",
    codeHint: "应用随后显示的六位数字",
    wrong: "验证码不正确，请输入应用当前显示的验证码",
    wrongPassword: "密码不正确",
    action: "启用",
  },
);

interface Props {
  readonly secret: string;
  /** uri is the `otpauth://` address. */
  readonly uri: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSubmit: (code: string, password: string) => void;
  readonly onCancel: () => void;
}

export function ScanStep({ secret, uri, busy, error, onSubmit, onCancel }: Props) {
  const t = useTexts(said);
  const [code, setCode] = useState("");
  const [password, setPassword] = useState("");
  const refusal = error == null ? undefined : refusalOf(error);
  const wrong = refusal?.reason === Reason.SIGN_IN_FAILED ? refusal.param : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (code.trim() && password) onSubmit(code.replaceAll(/\s/g, ""), password);
      }}
    >
      <Stack>
        <Text size="sm">{t.scan}</Text>
        <Center>
          <QrPicture text={uri} label={t.picture} />
        </Center>
        <div>
          <Text size="sm">{t.type}</Text>
          <Group gap={4} wrap="nowrap">
            <Code style={{ overflowWrap: "anywhere" }}>{secret.match(/.{1,4}/g)?.join(" ")}</Code>
            <Copy value={secret} what={t.secret} />
          </Group>
        </div>
        <TextInput
          label={t.code}
          description={t.codeHint}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          error={wrong === "code" && t.wrong}
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={10}
          required
          withAsterisk={false}
          data-autofocus
        />
        <Password
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={wrong === "password" && t.wrongPassword}
          required
          withAsterisk={false}
        />
        {error != null && wrong === undefined && <Failure error={error} />}
        <FormButtons action={t.action} busy={busy} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
