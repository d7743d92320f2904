/** A text as a QR code, dark on white in both themes, as cameras need it. */
import { useMemo } from "react";
import { encode } from "uqr";

interface Props {
  readonly text: string;
  readonly label: string;
}

export function QrPicture({ text, label }: Props) {
  const { size, path } = useMemo(() => {
    // The border is the quiet zone that the standard requires.
    const { data, size } = encode(text, { ecc: "M", border: 4 });
    const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size, path: squares.join("") };
  }, [text]);
  return (
    <svg
      role="img"
      aria-label={label}
      width={208}
      height={208}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} rx={2} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
