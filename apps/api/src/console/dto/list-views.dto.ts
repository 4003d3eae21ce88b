import { ApiProperty } from '@nestjs/swagger';

/** The base class of a list; `description` says what it contains and in what order. */
export function ListOf<T>(view: new () => T, description?: string): new () => { data: T[] } {
  class ListView {
    @ApiProperty({ type: [view], ...(description === undefined ? {} : { description }) })
    data!: T[];
  }
  return ListView;
}

/** Like `ListOf`, for a paginated list. */
export function PageOf<T>(
  view: new () => T,
  description?: string,
): new () => { data: T[]; has_more: boolean; next: string | null } {
  class PageView extends ListOf(view, description) {
    @ApiProperty()
    has_more!: boolean;

    @ApiProperty({ type: String, nullable: true, description: 'Pass it as `after` to get the next page.' })
    next!: string | null;
  }
  return PageView;
}
