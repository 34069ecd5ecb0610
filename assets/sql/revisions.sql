-- Selects, per civil day and feed, how many intervals were revised or withdrawn, as `/v1/publishers` counts them.
WITH ordered AS (
    SELECT
        v.*, month, date, lead(known_at) OVER later AS next_at, lead(value) OVER later AS next_value,
        min(known_at) OVER (PARTITION BY feed, fuel, counterparty, link, resolution, v.ts) AS first_at
    FROM versions v JOIN calendar c ON v.ts - v.ts % 1800 = c.ts
    WINDOW later AS (PARTITION BY feed, fuel, counterparty, link, resolution, v.ts ORDER BY known_at)
)
SELECT
    zone, metric, month, date, feed,
    CAST(count(DISTINCT (fuel, counterparty, link, resolution, ts)) AS INTEGER) AS intervals,
    CAST(count(DISTINCT (fuel, counterparty, link, resolution, ts)) FILTER (next_value <> value) AS INTEGER) AS revised,
    CAST(count(*) FILTER (superseded_at IS NOT NULL AND next_at IS NULL) AS INTEGER) AS withdrawn,
    avg(abs(next_value - value)) FILTER (next_at = superseded_at) AS mean_change,
    max(abs(next_value - value)) FILTER (next_at = superseded_at) AS largest_change,
    max(superseded_at - first_at) AS last_after_s
FROM ordered GROUP BY ALL
