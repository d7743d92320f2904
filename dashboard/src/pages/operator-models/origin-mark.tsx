/** Marks where a model is written, or how the gateway knows it. */
import { Badge } from "@mantine/core";
import { FileMark } from "../../configuration/in-file.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import type { ModelOrigin } from "./use-models.ts";

const said = texts(
  {
    stored: "own entry",
    storedMeans: "It has an entry of its own, which pages change.",
    catalogue: "catalogue",
    catalogueMeans: "The built-in catalogue describes it.",
    embedded: "simulator",
    embeddedMeans: "It runs in the gateway itself, for trying things out.",
    discovered: "listed there",
    discoveredMeans: "Its upstream lists it.",
  },
  {
    stored: "自定义",
    storedMeans: "有自己的条目，可在页面中更改。",
    catalogue: "内置目录",
    catalogueMeans: "由内置目录描述。",
    embedded: "模拟器",
    embeddedMeans: "在网关内运行，供试用。",
    discovered: "上游列出",
    discoveredMeans: "由其上游列出。",
  },
);

interface Props {
  readonly origin: ModelOrigin;
  readonly fileName: string;
}

export function OriginMark({ origin, fileName }: Props) {
  const t = useTexts(said);
  if (origin === "file") return <FileMark fileName={fileName} />;
  return (
    <Badge variant="default" size="sm" tt="none" title={t[`${origin}Means`]}>
      {t[origin]}
    </Badge>
  );
}
