/** A password, which can be shown. A new one says how long it has to be. */
import { PasswordInput, type PasswordInputProps } from "@mantine/core";
import { useWords, words } from "../language/language.tsx";

const said = words(
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
  /** Whether it is being chosen, and not asked for. */
  readonly fresh?: boolean;
}

export function Password({ fresh = false, ...rest }: Props) {
  const t = useWords(said);
  return (
    <PasswordInput
      label={t.password}
      {...(fresh && !rest.error
        ? { description: t.length, inputWrapperOrder: ["label", "input", "description", "error"] }
        : {})}
      autoComplete={fresh ? "new-password" : "current-password"}
      visibilityToggleButtonProps={{ "aria-label": t.show, tabIndex: 0 }}
      {...rest}
    />
  );
}

/** Returns what is wrong with a new password, if anything is. The gateway counts characters as we do. */
export function useNewPasswordCheck(): (password: string) => string | null {
  const t = useWords(said);
  return (password) => {
    const { length } = [...password];
    if (length < 10) return t.short;
    return length > 200 ? t.long : null;
  };
}
