/**
 * The nonce that the gateway gave this page: styles that the page makes itself are let in by it, and no others.
 *
 * What keeps the page behind a dialog from scrolling (react-remove-scroll) looks for it under a name of webpack's.
 */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

Object.assign(globalThis, { __webpack_nonce__: nonce });
