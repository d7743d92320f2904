/** Marks what is written in gateway.yaml, which pages do not change. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Alert, Badge, Code, Text } from "@mantine/core";
import { IconFileSettings } from "@tabler/icons-react";
import { texts, useTexts } from "../language/language.tsx";
import { Section } from "../parts/section.tsx";
import text from "../parts/text.module.css";
import { Verbatim } from "../parts/verbatim.tsx";

const said = texts(
  {
    mark: "in gateway.yaml",
    environment: "from the environment",
    means: "It is written in gateway.yaml, and is changed there.",
    environmentMeans: "It comes from environment variables, and is changed there.",
    title: "Written in gateway.yaml",
    environmentTitle: "From the environment",
    change: "It is changed there: edit the file and save it. The gateway reads it anew at once. The file:",
    changeEnvironment:
      "It follows from environment variables, such as OPENAI_API_KEY. Change them and start the gateway anew; or add an upstream of the same name to a gateway.yaml.",
  },
  {
    mark: "来自 gateway.yaml",
    environment: "来自环境变量",
    means: "此项写在 gateway.yaml 中，请在该文件中更改。",
    environmentMeans: "此项来自环境变量，请在环境变量中更改。",
    title: "写在 gateway.yaml 中",
    environmentTitle: "来自环境变量",
    change: "请在该文件中更改：编辑并保存后，网关会立即重新读取。文件：",
    changeEnvironment:
      "此项由环境变量（如 OPENAI_API_KEY）得出。请更改环境变量并重新启动网关，或在 gateway.yaml 中添加同名上游。",
  },
);

interface Props {
  /** fileName is empty where there is no file: then it is the environment's. */
  readonly fileName: string;
}

export function FileMark({ fileName }: Props) {
  const t = useTexts(said);
  const isFile = fileName !== "";
  return (
    <Badge
      variant="default"
      size="sm"
      tt="none"
      title={isFile ? t.means : t.environmentMeans}
      leftSection={<IconFileSettings size={12} aria-hidden />}
    >
      {isFile ? t.mark : t.environment}
    </Badge>
  );
}

/** FileNotice says what to do to change it. */
export function FileNotice({ fileName }: Props) {
  const t = useTexts(said);
  const isFile = fileName !== "";
  return (
    <Alert color="gray" icon={<IconFileSettings aria-hidden />} title={isFile ? t.title : t.environmentTitle}>
      <Text size="sm" className={text.anywhere}>
        {isFile ? t.change : t.changeEnvironment} {isFile && <Code>{fileName}</Code>}
      </Text>
    </Alert>
  );
}

interface EntryProps extends Props {
  readonly title: string;
  readonly entry: JsonObject | undefined;
}

/** FileEntry shows an entry as it is written, and what to do to change it. */
export function FileEntry({ title, fileName, entry = {} }: EntryProps) {
  return (
    <Section title={title}>
      <FileNotice fileName={fileName} />
      <Verbatim>{JSON.stringify(entry, null, 2)}</Verbatim>
    </Section>
  );
}
