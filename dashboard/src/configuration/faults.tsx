/** The faults of a refused change, each with its place. */
import { Alert, Code, List, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { DocumentFault } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { useJoin } from "../language/join.ts";
import { texts, useTexts } from "../language/language.tsx";
import { useReasonText } from "../language/use-reason-text.ts";
import { Breakable } from "../parts/breakable.tsx";
import { Failure } from "../parts/failure.tsx";
import text from "../parts/text.module.css";
import { refusalOf } from "../refusal.ts";
import { faultInChinese } from "./fault-texts.ts";

const said = texts({ refused: "This cannot be saved. Nothing has changed." }, { refused: "无法保存，未做任何更改。" });

/** Faults shows why a change was refused: its faults, or else the refusal's own message. */
export function Faults({ of }: { readonly of: unknown }) {
  const t = useTexts(said);
  const tell = useFaultText();
  const { faults } = refusalOf(of);
  if (faults.length === 0) return <Failure error={of} />;
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={t.refused} role="alert">
      <List size="sm" spacing={4} listStyleType="none">
        {faults.map((fault) => (
          <List.Item key={`${fault.path} ${fault.message}`} className={text.anywhere}>
            {fault.path && (
              <Code>
                <Breakable>{fault.path}</Breakable>
              </Code>
            )}{" "}
            <Text span>{tell(fault)}</Text>
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

/** useFaultText returns what is wrong at a fault's place, with the line of a file that has it. */
function useFaultText(): (fault: DocumentFault) => string {
  const tell = useReasonText(faultInChinese);
  const join = useJoin();
  return (fault) => {
    const { file, line } = fault;
    const text = tell(fault);
    return file === "" ? text : join.labelled(line > 0 ? `${file}:${line}` : file, text);
  };
}

/** useFaultAt returns a function that says what is wrong at a place, such as `upstreams[openai].base_url`, or at an entry of a list there. */
export function useFaultAt(): (error: unknown, path: string) => string | undefined {
  const tell = useFaultText();
  return (error, path) => {
    if (error == null) return undefined;
    const found = refusalOf(error).faults.find((fault) => fault.path === path || fault.path.startsWith(`${path}[`));
    return found && capitalised(tell(found));
  };
}

/** capitalised makes a sentence of a text, as stands below a field, unless a name in lower case begins it. */
function capitalised(text: string): string {
  const whole = text.replace(/^is /, "it is ");
  return /^[a-z]+[ :]/.test(whole) ? `${whole[0]?.toUpperCase()}${whole.slice(1)}` : whole;
}
