/**
 * No table changes. Lines of a journal say from here on what is waived of a call, which versions before this one would take for none of
 * theirs: so those are kept from a database whose journals they cannot read.
 */
export async function up(): Promise<void> {}
