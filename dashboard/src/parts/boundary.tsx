/**
 * Keeps what breaks in one part of a page from taking the rest with it. React knows no other form for it than a class.
 */
import { Component, type PropsWithChildren, type ReactNode } from "react";

interface Props extends PropsWithChildren {
  /** What stands in place of the part that broke; `again` shows it anew. */
  readonly fallback: (error: unknown, again: () => void) => ReactNode;
}

export class Boundary extends Component<Props, { readonly error: unknown }> {
  override state = { error: undefined as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return this.props.fallback(error, () => this.setState({ error: undefined }));
  }
}
