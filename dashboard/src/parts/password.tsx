/** A password field that can show its text. For a new password it states the required length. */
import { PasswordInput, type PasswordInputProps } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  {
    password: "Password",
    show: "Show or hide the password",
    length: "At least 10 characters",
    short: "Use at least 10 characters",
    long: "Use at most 200 characters",
  },
  {
    password: "密码",
    show: "显示或隐藏密码",
    length: "至少 10 个字符",
    short: "请使用至少 10 个字符",
    long: "请使用不超过 200 个字符",
  },
);

interface Props extends PasswordInputProps {
  /** fresh is whether a new password is being chosen. */
  readonly fresh?: boolean;
}

export function Password({ fresh = false, ...rest }: Props) {
  const t = useTexts(said);
  return (
    <PasswordInput
      label={t.password}
      {...(fresh && !rest.error ? { description: t.length } : {})}
      autoComplete={fresh ? "new-password" : "current-password"}
      visibilityToggleButtonProps={{ "aria-label": t.show, tabIndex: 0 }}
      {...rest}
    />
  );
}

/**
 * useNewPasswordCheck returns what is wrong with a new password, if anything is. It counts characters as the gateway
 * does.
 */
export function useNewPasswordCheck(): (password: string) => string | null {
  const t = useTexts(said);
  return (password) => {
    const { length } = [...password];
    if (length < 10) return t.short;
    return length > 200 ? t.long : null;
  };
}
