/**
 * The nonce that the gateway gave this page: the page's own styles are only allowed with it. The library that stops
 * the page behind a dialog from scrolling (react-remove-scroll) looks for it under webpack's name.
 */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

Object.assign(globalThis, { __webpack_nonce__: nonce });
