/**
 * Stands for the descriptor of buf.validate in the pages' bundle: the gateway checks what it is sent, and its rules for
 * that are 70 kB that no page reads.
 */
import { fileDesc } from "@bufbuild/protobuf/codegenv2";

/** A file of that name with nothing in it: `name`, `package`, `syntax`. */
export const file_buf_validate_validate = fileDesc(
  "ChtidWYvdmFsaWRhdGUvdmFsaWRhdGUucHJvdG8SDGJ1Zi52YWxpZGF0ZWIGcHJvdG8y",
);
