/** Opens the page of a call by its id, which every answer has in the header `x-request-id`. */
import { ActionIcon, TextInput } from "@mantine/core";
import { IconArrowRight, IconSearch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useJoin } from "../language/join.ts";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  {
    label: "Find a request by its id",
    wrong: "A request id is req_ and 25 characters, as in the answer header x-request-id.",
    open: "Open the request",
  },
  {
    label: "按请求 ID 查找",
    wrong: "请求 ID 由 req_ 和 25 个字符组成，见应答头 x-request-id。",
    open: "打开请求",
  },
);

interface Props {
  readonly to: "/usage/$requestId" | "/operator/requests/$requestId";
}

/** isRequestId reports whether a text has the form of a call's id. */
export function isRequestId(text: string): boolean {
  return /^req_[0-9a-z]{25}$/.test(text.trim());
}

export function RequestById({ to }: Props) {
  const t = useTexts(said);
  const join = useJoin();
  const navigate = useNavigate();
  const [id, setId] = useState("");
  const [isWrong, setWrong] = useState(false);
  const open = () => {
    if (!isRequestId(id)) return setWrong(id.trim() !== "");
    void navigate({ to, params: { requestId: id.trim() } as never });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        open();
      }}
    >
      <TextInput
        aria-label={t.label}
        placeholder={join.labelled(t.label, "req_…")}
        maw={460}
        spellCheck={false}
        autoComplete="off"
        value={id}
        onChange={(event) => {
          setId(event.currentTarget.value);
          setWrong(false);
        }}
        error={isWrong ? t.wrong : undefined}
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={
          id !== "" && (
            <ActionIcon type="submit" variant="subtle" aria-label={t.open}>
              <IconArrowRight size={16} aria-hidden />
            </ActionIcon>
          )
        }
      />
    </form>
  );
}
