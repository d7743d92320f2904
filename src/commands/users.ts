/**
 * `model-gateway users list|invite|reset-password|no-second-factor|operator|no-operator|set-up`: manages the users of
 * the dashboard. Only a link is written to standard output; it cannot be shown again.
 */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { OperatorService, type User } from "../../gen/modelgateway/v1/operator_pb.ts";
import { LinkKind } from "../../gen/modelgateway/v1/sessions_pb.ts";
import type { Config } from "../config/config.ts";
import { issueSetUpLink, linkUrl } from "../services/people/links.ts";
import type { Storage } from "../storage/storage.ts";
import { clockOf, table, withStorage } from "./command.ts";
import { UsageError, wrongAction } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";
import { type CallOperator, operatorClient, withOperator } from "./operator.ts";
import { rootUrl } from "./serving/listening.ts";

const { createLink, listUsers, updateUser } = OperatorService.method;

export async function users([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "list": {
      const { values } = readOptions("users list", args);
      return withOperator(values.config, list);
    }
    case "invite": {
      const { values } = readOptions("users invite", args);
      const { account, email } = values;
      const init = { ...(account === undefined ? {} : { account }), ...(email === undefined ? {} : { email }) };
      const invite = async (ask: CallOperator, config: Config) => {
        const { url } = await ask(createLink, init);
        show(`Whoever opens this address within 3 days may register${email === undefined ? "" : ` as ${email}`}.`);
        if (config.registration === "closed")
          show("But registration is closed: the configuration must allow it first.");
        console.log(publicRoot(config) + url);
      };
      return withOperator(values.config, invite, "nothing");
    }
    case "reset-password": {
      const { values, positionals } = readOptions("users reset-password", args);
      return withStorage(values.config, async (storage, config) => {
        const { id, email } = await userOf(storage, positionals[0] as string);
        const { url } = await operatorClient(storage, config)(createLink, { userId: id });
        show(`Whoever opens this address within 3 days sets a new password for ${email}.`);
        console.log(publicRoot(config) + url);
      });
    }
    case "no-second-factor": {
      const { values, positionals } = readOptions("users no-second-factor", args);
      return withStorage(values.config, async (storage, config) => {
        const { id, email } = await userOf(storage, positionals[0] as string);
        await operatorClient(storage, config)(updateUser, { userId: id, secondFactor: false });
        show(`${email} signs in by the password alone from now on. All sessions of before have ended.`);
      });
    }
    case "operator":
    case "no-operator": {
      const { values, positionals } = readOptions(`users ${action}`, args);
      const operator = action === "operator";
      return withStorage(values.config, async (storage, config) => {
        const { id, email } = await userOf(storage, positionals[0] as string);
        await operatorClient(storage, config)(updateUser, { userId: id, operator });
        show(`${email} ${operator ? "operates the gateway" : "does not operate the gateway"} from now on.`);
      });
    }
    case "set-up": {
      const { values } = readOptions("users set-up", args);
      return withStorage(values.config, setUp);
    }
  }
  throw wrongAction("users", action);
}

async function setUp(storage: Storage, config: Config): Promise<void> {
  const link = await issueSetUpLink(storage, clockOf(storage)());
  if (!link) throw new UsageError("somebody operates the gateway already; `users list` shows who");
  show("Open this address within 24 hours to become the first user. Earlier ones are good no more.");
  console.log(linkUrl(publicRoot(config), LinkKind.SET_UP, link.token));
}

/** publicRoot returns the configured base URL: no request shows the command line under which address it is reached. */
function publicRoot(config: Config): string {
  return config.publicUrls.root ?? rootUrl(config);
}

async function userOf({ users }: Storage, email: string) {
  const user = await users.findByEmail(email);
  if (!user) throw new UsageError(`there is no user "${email}"; \`users list\` shows those that there are`);
  return user;
}

async function list(ask: CallOperator): Promise<void> {
  const rows: string[][] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await ask(listUsers, { pageSize: 1000, ...(pageToken === undefined ? {} : { pageToken }) });
    rows.push(...page.users.map(row));
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  console.log(table(["ID", "CREATED", "OPERATOR", "SECOND FACTOR", "LAST SEEN", "EMAIL", "ACCOUNT"], rows));
}

function row(user: User): string[] {
  const { id, email, accountName, operator, secondFactor, createdAt, lastSeenAt } = user;
  const moment = (at: typeof createdAt) => (at ? timestampDate(at).toISOString() : "-");
  const yes = (is: boolean) => (is ? "yes" : "no");
  return [id, moment(createdAt), yes(operator), yes(secondFactor), moment(lastSeenAt), email, accountName];
}

/** show writes to standard error: standard output is for links only. */
function show(message: string): void {
  console.error(message);
}
