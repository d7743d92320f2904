/** Names of arguments that the Messages API refuses are others there: in the schema, and back in the model's calls. */
import { expect, test } from "vitest";
import { withNamesIn } from "../../../src/families/chat-to-messages/property-names.ts";

const names = new Map([
  ["filter_id__1", "filter[id]"],
  ["more", 'say "so"'],
]);

test.each<[name: string, json: string, expected: string]>([
  ["numbers of any length", '{"filter_id__1":1234567890123456789}', '{"filter[id]":1234567890123456789}'],
  ["white space, and what is further in", '{ "filter_id__1" : {"more" :1.0}\n}', '{ "filter[id]" : {"more" :1.0}\n}'],
  ["strings like names", '{"a":"more","more":[{"more":"}\\""}]}', '{"a":"more","say \\"so\\"":[{"more":"}\\""}]}'],
  ["escapes in names", '{"\\u006dore":"ä","b":2}', '{"say \\"so\\"":"ä","b":2}'],
  ["the order of names", '{"more":1,"b":2,"filter_id__1":3}', '{"say \\"so\\"":1,"b":2,"filter[id]":3}'],
  ["no names", " {} ", " {} "],
  ["text that is cut off", '{"more":1', '{"more":1'],
  ["what is no object", '["more"]', '["more"]'],
])("the caller's names of arguments leave %s", (_, json, expected) => {
  expect(withNamesIn(json, names)).toBe(expected);
});
