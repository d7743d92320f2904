/** The columns of a list of calls, running or ended; the table and the cards share them. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Request, Running, Usage } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { counted } from "../language/counted.ts";
import { type Format, useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Breakable } from "./breakable.tsx";
import { Money } from "./money.tsx";
import { OutcomeMark } from "./outcome.tsx";
import text from "./text.module.css";

const said = texts(
  {
    time: "Time",
    account: "Account",
    model: "Model",
    key: "Key",
    operation: "Operation",
    outcome: "Status",
    input: "Tokens in",
    output: "Tokens out",
    cost: "Cost",
    firstByte: "First byte",
    duration: "Duration",
    characters: (count: string) => counted(count, "char"),
    charactersLong: (count: string) => `${counted(count, "character")} of speech input`,
    upTo: (amount: string) => `≤ ${amount}`,
  },
  {
    time: "时间",
    account: "账户",
    model: "模型",
    key: "密钥",
    operation: "操作",
    outcome: "状态",
    input: "输入 Token",
    output: "输出 Token",
    cost: "费用",
    firstByte: "首字节",
    duration: "耗时",
    characters: (count: string) => `${count} 字符`,
    charactersLong: (count: string) => `${count} 个语音输入字符`,
    upTo: (amount: string) => `≤ ${amount}`,
  },
);

export interface RequestColumn {
  readonly name: string;
  readonly head: string;
  readonly numeric?: true;
  /** isName is whether it is what somebody or something is called. */
  readonly isName?: true;
  /** minWidth is the least that its cells take in the table, in pixels. */
  readonly minWidth?: number;
  readonly ended: (request: Request) => ReactNode;
  readonly running: (running: Running) => ReactNode;
}

export interface RequestNames {
  /** keyNames are keys' names by id. A key that is not in it, such as a revoked one, shows its id. */
  readonly keyNames?: ReadonlyMap<string, string> | undefined;
  /** account renders the account of each call. */
  readonly account?: ((accountId: string) => ReactNode) | undefined;
  /** page is the page of a call: the account's own, or the operator's. */
  readonly page?: "/usage/$requestId" | "/operator/requests/$requestId";
}

const none = "–";

export function useRequestColumns({
  keyNames,
  account,
  page = "/usage/$requestId",
}: RequestNames): readonly RequestColumn[] {
  const t = useTexts(said);
  const format = useFormat();
  const both = (cell: (call: Request | Running) => ReactNode) => ({ ended: cell, running: cell });
  const columns: RequestColumn[] = [
    {
      name: "time",
      head: t.time,
      ended: ({ id, createdAt }) => (
        <Anchor component={Link} to={page} params={{ requestId: id } as never} fz="inherit">
          {createdAt && <span title={format.exactly(createdAt)}>{format.briefly(createdAt)}</span>}
        </Anchor>
      ),
      running: ({ createdAt }) => createdAt && format.briefly(createdAt),
    },
    { name: "outcome", head: t.outcome, ended: (request) => <OutcomeMark of={request} />, running: underWay },
    {
      name: "model",
      head: t.model,
      isName: true,
      minWidth: 125,
      ...both(({ model }) => <Breakable>{model}</Breakable>),
    },
    {
      ...{ name: "key", head: t.key, ...(keyNames ? { isName: true as const } : {}) },
      ...both(({ keyId }) => <KeyOf id={keyId} names={keyNames} />),
    },
    { name: "operation", head: t.operation, ...both(({ operation }) => operation) },
    {
      ...{ name: "input", head: t.input, numeric: true },
      ended: ({ usage }) => <Input usage={usage} format={format} />,
      running: () => none,
    },
    {
      ...{ name: "output", head: t.output, numeric: true },
      ended: ({ usage }) => format.count(usage?.outputTokens ?? 0n),
      running: () => none,
    },
    {
      ...{ name: "cost", head: t.cost, numeric: true },
      ended: ({ cost }) => <Money of={cost} />,
      running: ({ held }) => t.upTo(format.rounded(held)),
    },
    {
      ...{ name: "firstByte", head: t.firstByte, numeric: true },
      ended: ({ firstByteMs }) => (firstByteMs === undefined ? none : format.duration(firstByteMs)),
      running: () => none,
    },
    {
      ...{ name: "duration", head: t.duration, numeric: true },
      ended: ({ durationMs }) => format.duration(durationMs),
      running: ({ createdAt }) => createdAt && format.duration(sinceSeconds(timestampDate(createdAt)) * 1000),
    },
  ];
  if (account) {
    const cell = (call: Request | Running) => account(call.accountId);
    columns.splice(1, 0, { ...{ name: "account", head: t.account, isName: true }, ...both(cell) });
  }
  return columns;
}

function underWay() {
  return <OutcomeMark of={undefined} />;
}

function Input({ usage, format }: { readonly usage: Usage | undefined; readonly format: Format }) {
  const t = useTexts(said);
  if (!usage) return none;
  const { inputTokens, cacheReadTokens, cacheWriteTokens, characters } = usage;
  if (characters > 0n) {
    const count = format.count(characters);
    return <span title={t.charactersLong(count)}>{t.characters(count)}</span>;
  }
  return format.count(inputTokens + cacheReadTokens + cacheWriteTokens);
}

function sinceSeconds(at: Date): number {
  return Math.max(0, Math.round((Date.now() - at.getTime()) / 1000));
}

/** KeyOf is a key's name, or the end of its id: ids are long, and their beginnings alike. The tooltip has the whole id. */
export function KeyOf({ id, names }: { readonly id: string; readonly names: RequestNames["keyNames"] }) {
  const name = names?.get(id);
  return (
    <span title={id} className={name === undefined ? text.nowrap : undefined}>
      {name ?? (id === "" ? "" : `…${id.slice(-6)}`)}
    </span>
  );
}
