/** NoteField takes the note of a version. */
import { Textarea } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  { note: "Note", about: "What it is for. It is shown in the history." },
  { note: "备注", about: "更改的原因，会显示在历史记录中。" },
);

interface Props {
  readonly value: string;
  readonly onChange: (note: string) => void;
}

export function NoteField({ value, onChange }: Props) {
  const t = useTexts(said);
  return (
    <Textarea
      label={t.note}
      description={t.about}
      maxLength={500}
      autosize
      minRows={1}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data-autofocus
    />
  );
}

/** noteOf returns the field of a request; a note of blanks is none. */
export function noteOf(note: string): { readonly note?: string } {
  return note.trim() === "" ? {} : { note: note.trim() };
}
