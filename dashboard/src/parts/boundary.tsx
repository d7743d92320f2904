/** Contains an error in one part of a page. React requires a class for it. */
import { Component, type PropsWithChildren, type ReactNode } from "react";

interface Props extends PropsWithChildren {
  /** fallback replaces the failed part; `again` renders it again. */
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
