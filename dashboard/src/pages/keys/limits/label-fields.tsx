/** The fields of a key that say whose it is and what it is for. */
import { TagsInput, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { texts, useTexts } from "../../../language/language.tsx";
import { Fields } from "../../../parts/fields.tsx";
import type { KeyValues } from "../key-values.ts";
import { most } from "./limit-values.ts";
import { useKnownLabels } from "./use-known-labels.ts";

const said = texts(
  {
    owner: "Owner",
    ownerHint: "A person or a team",
    ownerLong: "Use at most 200 characters",
    tags: "Tags",
    tagsHint: "Type a tag, then Enter",
    tagLong: "A tag has at most 64 characters",
  },
  {
    owner: "负责人",
    ownerHint: "个人或团队",
    ownerLong: "请使用不超过 200 个字符",
    tags: "标签",
    tagsHint: "输入标签后按回车键",
    tagLong: "标签最多 64 个字符",
  },
);

/** useLabelChecks returns what is wrong with each value, for the form to validate by. */
export function useLabelChecks() {
  const t = useTexts(said);
  return {
    owner: (owner: string) => (owner.trim().length > 200 ? t.ownerLong : null),
    tags: (tags: string[]) => (tags.some((tag) => tag.length > 64) ? t.tagLong : null),
  };
}

export function LabelFields({ form }: { readonly form: UseFormReturnType<KeyValues> }) {
  const t = useTexts(said);
  const { tags } = useKnownLabels();
  return (
    <Fields cols={{ base: 1, xs: 2 }}>
      <TextInput
        label={t.owner}
        placeholder={t.ownerHint}
        maxLength={250}
        autoComplete="off"
        {...form.getInputProps("owner")}
      />
      <TagsInput
        label={t.tags}
        placeholder={form.values.tags.length === 0 ? t.tagsHint : ""}
        data={[...tags]}
        maxTags={most.tags}
        acceptValueOnBlur
        {...form.getInputProps("tags")}
      />
    </Fields>
  );
}
