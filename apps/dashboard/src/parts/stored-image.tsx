import { Anchor, Badge, Center, Image, type ImageProps } from '@mantine/core';
import { useState } from 'react';
import type { TaskRow } from '../api/types.ts';

/**
 * The address to show a stored image under. Each answer links it anew; the first link is kept as long as it leads to
 * the same image, or a list that refreshes itself would fetch all of them every time.
 */
function useSteadyLink(url: string): { src: string; isBroken: boolean; onError: () => void } {
  const [shown, setShown] = useState({ url, isBroken: false });
  if (nameOf(url) !== nameOf(shown.url)) setShown({ url, isBroken: false });
  return {
    src: shown.url,
    isBroken: shown.isBroken,
    onError: () => setShown((before) => ({ ...before, isBroken: true })),
  };
}

function nameOf(url: string): string {
  return url.split('?', 1)[0] ?? url;
}

interface StoredImageProps extends Omit<ImageProps, 'src' | 'onError'> {
  readonly url: string;
  readonly alt: string;
  /** What stands there when it can't be shown. */
  readonly missing: string;
  /** Names the link that opens the image on its own; absent: it is no link. */
  readonly opens?: string;
  readonly loading?: 'lazy';
  readonly onClick?: () => void;
}

/** An image of the service; one that is no longer there leaves a quiet place that says so. */
export function StoredImage({ url, missing, opens, w, h, ...look }: StoredImageProps) {
  const { src, isBroken, onError } = useSteadyLink(url);
  if (isBroken) return <NoImage size={typeof w === 'number' ? w : undefined}>{missing}</NoImage>;
  const image = <Image src={src} onError={onError} w={w} h={h} {...look} />;
  if (opens === undefined) return image;
  return (
    <Anchor href={url} target="_blank" rel="noreferrer" aria-label={opens}>
      {image}
    </Anchor>
  );
}

/** The small image of a task in a list, `size` pixels square; a word where there is none any more. */
export function Thumbnail({ task, size }: { readonly task: TaskRow; readonly size: number }) {
  if (task.thumbnail_url === null) return <NoImage size={size}>{task.status === 'completed' ? 'Expired' : ''}</NoImage>;
  return (
    <StoredImage
      url={task.thumbnail_url}
      alt=""
      missing="Missing"
      w={size}
      h={size}
      radius="sm"
      fit="cover"
      loading="lazy"
    />
  );
}

/** On an image that no model made. */
export function SandboxMark({ small = false }: { readonly small?: boolean }) {
  return (
    <Badge className="sandbox-mark" size={small ? 'sm' : 'md'} title="Drawn by the built-in sandbox, not by a model">
      Sandbox
    </Badge>
  );
}

interface NoImageProps {
  /** Of a square in pixels; undefined: as wide as there is room. */
  readonly size: number | undefined;
  readonly children: string;
}

function NoImage({ size, children }: NoImageProps) {
  return (
    <Center className="no-image" w={size ?? '100%'} h={size ?? 160} fz={size === undefined ? 'sm' : 10}>
      {children}
    </Center>
  );
}
