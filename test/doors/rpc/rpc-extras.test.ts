/**
 * What gRPC tools expect of a server: health, and reflection, so that `buf curl` and its like need no protos. Both need no key.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { create, createFileRegistry, fromBinary, getOption, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { credentials, Client as GrpcClient, status as grpcStatus } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Health,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import {
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflection as V1,
} from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as V1alpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { AccessSchema, access, Caller } from "../../../gen/modelgateway/v1/access_pb.ts";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});

afterAll(async () => {
  await gateway.close();
});

const grpc = ({ rootUrl }: TestGateway) => createGrpcTransport({ baseUrl: rootUrl });
const transports: Readonly<Record<string, (gateway: TestGateway) => Transport>> = {
  Connect: ({ rootUrl }) => createConnectTransport({ baseUrl: rootUrl, httpVersion: "1.1" }),
  gRPC: grpc,
  "gRPC-Web": ({ rootUrl }) => createGrpcWebTransport({ baseUrl: rootUrl, httpVersion: "1.1" }),
};

/** Health as a client in most other languages asks for it. */
function grpcJsHealth({ port }: TestGateway) {
  const client = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const write = (message: MessageInitShape<typeof HealthCheckRequestSchema>) =>
    Buffer.from(toBinary(HealthCheckRequestSchema, message as never));
  const read = (bytes: Buffer) => fromBinary(HealthCheckResponseSchema, bytes);
  const request = (service: string) => ({ $typeName: HealthCheckRequestSchema.typeName, service });
  return {
    check: (service: string) =>
      new Promise<HealthCheckResponse>((resolve, reject) => {
        client.makeUnaryRequest(`/${Health.typeName}/Check`, write, read, request(service), (error, answer) =>
          error || !answer ? reject(error) : resolve(answer),
        );
      }),
    watch: (service: string) =>
      client.makeServerStreamRequest(`/${Health.typeName}/Watch`, write, read, request(service)),
    close: () => client.close(),
  };
}

/** The gateway's own services, in the order in which lists have them. */
const own = [
  "AccountService",
  "InferenceService",
  "KeyService",
  "OperatorService",
  "SessionService",
  "UsageService",
].map((name) => `modelgateway.v1.${name}`);

const inOrderOfServing = [
  "InferenceService",
  "KeyService",
  "AccountService",
  "UsageService",
  "SessionService",
  "OperatorService",
].map((name) => `modelgateway.v1.${name}`);

describe("health", () => {
  const served = ["", ...own];

  for (const [name, transportTo] of Object.entries(transports)) {
    test(`is served for the gateway and each of its services over ${name}`, async () => {
      const client = createClient(Health, transportTo(gateway));
      for (const service of served) expect(await client.check({ service })).toMatchObject({ status: Status.SERVING });
      const { statuses } = await client.list({});
      expect(Object.keys(statuses).sort()).toEqual([...served].sort());
      for (const { status } of Object.values(statuses)) expect(status).toBe(Status.SERVING);
    });

    test(`of an unknown service is not found, over ${name}`, async () => {
      const refused = await createClient(Health, transportTo(gateway))
        .check({ service: "somebody.else" })
        .catch(ConnectError.from);
      expect(refused).toMatchObject({ code: Code.NotFound });
    });
  }

  test("is served to a grpc-js client", async () => {
    const client = grpcJsHealth(gateway);
    for (const service of served) expect(await client.check(service)).toMatchObject({ status: Status.SERVING });
    await expect(client.check("somebody.else")).rejects.toMatchObject({ code: grpcStatus.NOT_FOUND });
    client.close();
  });

  for (const [name, transportTo] of Object.entries(transports)) {
    test(`of an unknown service can be watched, as unknown, until the watcher leaves, over ${name}`, async () => {
      const leaving = new AbortController();
      const client = createClient(Health, transportTo(gateway));
      const watch = client.watch({ service: "somebody.else" }, { signal: leaving.signal })[Symbol.asyncIterator]();
      expect(await watch.next()).toMatchObject({ value: { status: Status.SERVICE_UNKNOWN } });
      const next = watch.next().catch(ConnectError.from);
      leaving.abort();
      expect(await next).toMatchObject({ code: Code.Canceled });
    });
  }

  for (const service of served) {
    for (const [name, transportTo] of Object.entries(transports)) {
      test(`of "${service}" is watched to the end, which no watcher delays, over ${name}`, async () => {
        const ending = await startTestGateway({ drainMs: 600_000 });
        const statuses: Status[] = [];
        let closed: Promise<void> | undefined;
        for await (const { status } of createClient(Health, transportTo(ending)).watch({ service })) {
          statuses.push(status);
          closed ??= ending.close("running");
        }
        expect(statuses).toEqual([Status.SERVING, Status.NOT_SERVING]);
        await closed;
      });
    }
  }

  test("is watched to the end by a grpc-js client", async () => {
    const ending = await startTestGateway({ drainMs: 600_000 });
    const client = grpcJsHealth(ending);
    const statuses: Status[] = [];
    let closed: Promise<void> | undefined;
    for await (const answer of client.watch("")) {
      statuses.push((answer as HealthCheckResponse).status);
      closed ??= ending.close("running");
    }
    expect(statuses).toEqual([Status.SERVING, Status.NOT_SERVING]);
    await closed;
    client.close();
  });
});

type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;
type Answer = ServerReflectionResponse["messageResponse"];

async function* questions(asked: readonly Question[]) {
  for (const messageRequest of asked) yield { host: "here", messageRequest };
}

for (const service of [V1, V1alpha] as (typeof V1)[]) {
  describe(`${service.typeName}`, () => {
    /** Asks all on one stream. */
    async function ask(...asked: Question[]): Promise<Answer[]> {
      const answers: Answer[] = [];
      for await (const answer of createClient(service, grpc(gateway)).serverReflectionInfo(questions(asked))) {
        expect(answer.validHost).toBe("here");
        expect(answer.originalRequest?.messageRequest).toMatchObject(asked[answers.length] as object);
        answers.push(answer.messageResponse);
      }
      expect(answers.length).toBe(asked.length);
      return answers;
    }

    async function filesFor(question: Question): Promise<FileDescriptorProto[]> {
      const [answer] = await ask(question);
      if (answer?.case !== "fileDescriptorResponse") throw new Error(`answered with ${answer?.case}`);
      return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    }

    test("lists every service that is served", async () => {
      const [answer] = await ask({ case: "listServices", value: "" });
      expect(answer).toMatchObject({
        case: "listServicesResponse",
        value: {
          service: [
            ...inOrderOfServing.map((name) => ({ name })),
            { name: "grpc.health.v1.Health" },
            { name: "grpc.reflection.v1.ServerReflection" },
            { name: "grpc.reflection.v1alpha.ServerReflection" },
          ],
        },
      });
    });

    const findable: Readonly<Record<string, { question: Question; file: string }>> = {
      "a file by its name": {
        question: { case: "fileByFilename", value: "modelgateway/v1/chat.proto" },
        file: "modelgateway/v1/chat.proto",
      },
      "an imported file by its name": {
        question: { case: "fileByFilename", value: "buf/validate/validate.proto" },
        file: "buf/validate/validate.proto",
      },
      "the file of a service": symbol("modelgateway.v1.InferenceService", "modelgateway/v1/inference.proto"),
      "the file of an RPC": symbol(
        "modelgateway.v1.InferenceService.CreateChatCompletion",
        "modelgateway/v1/inference.proto",
      ),
      "the file of a message": symbol("modelgateway.v1.ToolCall", "modelgateway/v1/chat.proto"),
      "the file of an enum": symbol("modelgateway.v1.Role", "modelgateway/v1/chat.proto"),
      "the file of a nested enum": symbol(
        "grpc.health.v1.HealthCheckResponse.ServingStatus",
        "grpc/health/v1/health.proto",
      ),
      "the file of a well-known type": symbol("google.protobuf.Struct", "google/protobuf/struct.proto"),
      "the file of an option by its name": symbol("modelgateway.v1.access", "modelgateway/v1/access.proto"),
      "the file of the details of errors": symbol("modelgateway.v1.ErrorDetail", "modelgateway/v1/errors.proto"),
      "the file of an option of ours by its number": extension(50011, "modelgateway/v1/access.proto"),
      "the file of google.api.http by its number": extension(72295728, "google/api/annotations.proto"),
    };
    for (const [name, { question, file }] of Object.entries(findable)) {
      test(`finds ${name}, with its imports`, async () => {
        const files = await filesFor(question);
        expect(files[0]?.name).toBe(file);
        const names = files.map((each) => each.name);
        expect(new Set(names).size).toBe(names.length);
        for (const { dependency } of files) expect(names).toEqual(expect.arrayContaining(dependency));
      });
    }

    test("returns files from which a client can be built, options included", async () => {
      const files = await filesFor({ case: "fileContainingSymbol", value: InferenceService.typeName });
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst(files) }));
      const found = registry.getService(InferenceService.typeName);
      expect(found?.methods.map(({ name, methodKind }) => [name, methodKind])).toEqual(
        InferenceService.methods.map(({ name, methodKind }) => [name, methodKind]),
      );
      for (const method of found?.methods ?? []) expect(getOption(method, access).caller).toBe(Caller.KEY);
    });

    test("returns the extension numbers of a message", async () => {
      const [methods, none] = await ask(
        { case: "allExtensionNumbersOfType", value: "google.protobuf.MethodOptions" },
        { case: "allExtensionNumbersOfType", value: AccessSchema.typeName },
      );
      expect(methods).toMatchObject({
        case: "allExtensionNumbersResponse",
        value: {
          baseTypeName: "google.protobuf.MethodOptions",
          extensionNumber: expect.arrayContaining([50011, 72295728]),
        },
      });
      expect(none).toMatchObject({
        case: "allExtensionNumbersResponse",
        value: { baseTypeName: AccessSchema.typeName, extensionNumber: [] },
      });
    });

    const unknown: Question[] = [
      { case: "fileByFilename", value: "modelgateway/v1/nothing.proto" },
      { case: "fileByFilename", value: "" },
      { case: "fileContainingSymbol", value: "modelgateway.v1.Nothing" },
      { case: "fileContainingSymbol", value: "modelgateway.v1" },
      { case: "fileContainingSymbol", value: "__proto__" },
      {
        case: "fileContainingExtension",
        value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 1 },
      },
      { case: "fileContainingExtension", value: { containingType: "nobody.Knows", extensionNumber: 50011 } },
      { case: "allExtensionNumbersOfType", value: "nobody.Knows" },
      { case: "allExtensionNumbersOfType", value: "modelgateway.v1.Role" },
      { case: "allExtensionNumbersOfType", value: "modelgateway.v1.InferenceService" },
    ];
    for (const question of unknown) {
      test(`says that ${question.case} ${JSON.stringify(question.value)} is not found, and goes on`, async () => {
        const [answer, next] = await ask(question, { case: "listServices", value: "" });
        expect(answer).toMatchObject({ case: "errorResponse", value: { errorCode: Code.NotFound } });
        expect(next).toMatchObject({ case: "listServicesResponse" });
      });
    }

    test("refuses an empty request, and goes on", async () => {
      const [answer, next] = await ask({ case: undefined }, { case: "listServices", value: "" });
      expect(answer).toMatchObject({ case: "errorResponse", value: { errorCode: Code.InvalidArgument } });
      expect(next).toMatchObject({ case: "listServicesResponse" });
    });
  });
}

function importsFirst(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const sorted = new Set<FileDescriptorProto>();
  const add = (name: string) => {
    const file = files.find((each) => each.name === name) as FileDescriptorProto;
    if (sorted.has(file)) return;
    file.dependency.forEach(add);
    sorted.add(file);
  };
  for (const { name } of files) add(name);
  return [...sorted];
}

function symbol(value: string, file: string): { question: Question; file: string } {
  return { question: { case: "fileContainingSymbol", value }, file };
}

function extension(extensionNumber: number, file: string): { question: Question; file: string } {
  const value = { containingType: "google.protobuf.MethodOptions", extensionNumber };
  return { question: { case: "fileContainingExtension", value }, file };
}

describe("buf curl, without any proto,", () => {
  const binary = join(import.meta.dirname, "../../../node_modules/.bin/buf");

  /** Runs the tool as it is, in a process of its own. */
  function curl(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      execFile(binary, ["curl", ...args], (error, stdout, stderr) => {
        resolve({ status: error ? Number(error.code) : 0, stdout, stderr });
      });
    });
  }

  const rpc = (name: string) => `${gateway.rootUrl}/${InferenceService.typeName}/${name}`;
  const authorization = () => ["-H", `Authorization: Bearer ${gateway.apiKey}`];
  const say = '{"model": "embedded-chat", "messages": [{"role": "ROLE_USER", "text": "say: to be or not"}]}';

  for (const reflection of ["grpc-v1", "grpc-v1alpha"]) {
    test(`lists services and methods by ${reflection}`, async () => {
      const services = await curl("--reflect-protocol", reflection, "--list-services", gateway.rootUrl);
      expect(services.stdout.trim().split("\n")).toEqual([
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        ...own,
      ]);
      const methods = await curl("--reflect-protocol", reflection, "--list-methods", gateway.rootUrl);
      expect(methods.stdout.trim().split("\n")).toEqual(
        expect.arrayContaining([
          "modelgateway.v1.InferenceService/CreateChatCompletion",
          "modelgateway.v1.InferenceService/StreamChatCompletion",
        ]),
      );
    });
  }

  for (const protocol of [
    ["--protocol", "grpc", "--http2-prior-knowledge"],
    ["--protocol", "grpcweb", "--http2-prior-knowledge"],
    ["--protocol", "grpcweb"],
    ["--protocol", "connect", "--http2-prior-knowledge"],
    ["--protocol", "connect"],
  ]) {
    const over = protocol.join(" ");

    test(`gets a unary answer with ${over}`, async () => {
      const { status, stdout, stderr } = await curl(
        ...protocol,
        ...authorization(),
        "-d",
        say,
        rpc("CreateChatCompletion"),
      );
      expect(status, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        object: "chat.completion",
        choices: [{ message: { role: "ROLE_ASSISTANT", content: "to be or not" }, finishReason: "FINISH_REASON_STOP" }],
      });
    });

    test(`gets a stream with ${over}`, async () => {
      const { status, stdout, stderr } = await curl(
        ...protocol,
        ...authorization(),
        "-d",
        say,
        rpc("StreamChatCompletion"),
      );
      expect(status, stderr).toBe(0);
      const chunks = JSON.parse(`[${stdout.replaceAll(/^\}\n?\{/gm, "},{")}]`) as {
        choices: { delta: { content?: string } }[];
      }[];
      expect(chunks.length).toBeGreaterThan(4);
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("to be or not");
    });

    test(`gets a refusal with ${over}`, async () => {
      const { status, stderr } = await curl(...protocol, "-d", say, rpc("CreateChatCompletion"));
      // The tool's exit status is the code, three bits to the left.
      expect(status).toBe(Code.Unauthenticated << 3);
      const { details } = JSON.parse(stderr) as { details: { type: string; value: string }[] };
      expect(details.map(({ type }) => type)).toEqual([ErrorDetailSchema.typeName]);
      expect(fromBinary(ErrorDetailSchema, Buffer.from(details[0]?.value ?? "", "base64"))).toMatchObject({
        reason: Reason.INVALID_API_KEY,
        httpStatus: 401,
      });
    });
  }
});
