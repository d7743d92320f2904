/** The keys of an upstream. One that is stored shows its mask, and stays where nothing else is typed. */
import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { labelHeight } from "../../parts/fields.tsx";
import { RemoveRow } from "../../parts/row-buttons.tsx";
import { type KeyValue, newKey } from "./upstream-values.ts";

const said = texts(
  {
    key: "API key",
    show: "Show or hide the key",
    keyNumber: (number: number) => `API key ${number}`,
    about: "It is stored encrypted, and never shown again but for its last characters. Empty: the upstream wants none.",
    stored: (mask: string) => `${mask} is stored. Leave this empty to keep it.`,
    moved: (mask: string) =>
      `The address is another now: enter the key for it. ${mask} goes only to the one that it was stored for.`,
    add: "Add another key",
    several: "Calls take several keys in turn; one that is refused or has used up its rate rests.",
    remove: (name: string) => `Remove ${name}`,
  },
  {
    key: "API 密钥",
    show: "显示或隐藏密钥",
    keyNumber: (number: number) => `API 密钥 ${number}`,
    about: "密钥加密存储，之后仅显示末尾几个字符。留空表示上游不需要密钥。",
    stored: (mask: string) => `已存储 ${mask}。留空则保持不变。`,
    moved: (mask: string) => `地址已更改，请重新输入密钥。${mask} 只会发往其存储时的地址。`,
    add: "再添加一个密钥",
    several: "多个密钥轮流使用；被拒绝或达到速率上限的密钥会暂停使用。",
    remove: (name: string) => `删除 ${name}`,
  },
);

interface Props {
  readonly value: readonly KeyValue[];
  readonly onChange: (value: readonly KeyValue[]) => void;
  readonly error?: ReactNode;
  /** moved is whether the address is another than the stored keys are for. */
  readonly moved: boolean;
}

export function KeysField({ value, onChange, error, moved }: Props) {
  const t = useTexts(said);
  const set = (at: number, key: KeyValue) => onChange(value.map((one, i) => (i === at ? key : one)));
  const remove = (at: number) => {
    const others = value.filter((_, i) => i !== at);
    onChange(others.length > 0 ? others : [newKey]);
  };
  return (
    <Stack gap="xs">
      {value.map((key, i) => {
        const label = value.length > 1 ? t.keyNumber(i + 1) : t.key;
        return (
          <Group key={i} gap="xs" wrap="nowrap" align="flex-start">
            <PasswordInput
              flex={1}
              miw={0}
              label={label}
              description={key.mask ? (moved ? t.moved(key.mask) : t.stored(key.mask)) : i === 0 ? t.about : undefined}
              placeholder={key.mask}
              value={key.text}
              onChange={(event) => set(i, { ...key, text: event.currentTarget.value })}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ "aria-label": t.show, tabIndex: 0 }}
              error={i === 0 ? error : undefined}
            />
            {(value.length > 1 || key.mask !== "") && (
              <RemoveRow label={t.remove(label)} mt={labelHeight} onClick={() => remove(i)} />
            )}
          </Group>
        );
      })}
      <Button
        variant="subtle"
        size="compact-sm"
        w="fit-content"
        leftSection={<IconPlus size={14} aria-hidden />}
        title={t.several}
        onClick={() => onChange([...value, newKey])}
      >
        {t.add}
      </Button>
    </Stack>
  );
}
