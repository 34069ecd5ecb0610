-- A market day of day-ahead prices that has begun to come is whole, as it is served: 23, 24 or 25 hours, or 92, 96 or
-- 100 quarters, and not some of each. The first day of the rows at hand may be cut.
WITH days AS (
    SELECT
        zone, timezone(market_tz, starts_at)::DATE AS day, market_tz, resolution, seconds,
        count(*) AS intervals, string_agg(DISTINCT feed, ', ') AS feeds
    FROM day_ahead JOIN zones USING (zone) JOIN resolutions USING (resolution)
    GROUP BY ALL
),
wanted AS (
    SELECT
        *, min(day) OVER (PARTITION BY zone) AS first_day,
        epoch(timezone(market_tz, (day + 1)::TIMESTAMP)) - epoch(timezone(market_tz, day::TIMESTAMP)) AS length
    FROM days
)
SELECT zone, day, format('{}: {} of {:.0f} intervals of {}', feeds, intervals, length / seconds, resolution) AS detail
FROM wanted
WHERE intervals * seconds <> length AND day > first_day
