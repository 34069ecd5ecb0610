-- Compares one price in two feeds. A day-ahead auction has one result: hourly means differ by a cent at most.
-- One feed may correct a real-time price first: a day's hourly means agree on average within `tolerances`.
WITH hours AS (
    SELECT zone, metric, feed, ts // 3600 AS hour, avg(value) AS price, any_value(unit) AS unit
    FROM versions JOIN resolutions USING (resolution)
    WHERE metric IN ('price', 'price_day_ahead') AND superseded_at IS NULL AND seconds <= 3600
    GROUP BY ALL
    HAVING sum(seconds) = 3600
),
pairs AS (
    SELECT
        zone, metric, a.feed, b.feed AS other_feed, a.price, b.price AS other_price, a.unit,
        timezone(tz, to_timestamp(hour * 3600))::DATE AS day,
        metric = 'price_day_ahead' OR headline LIKE 'day-ahead auction%' AS auction
    FROM hours a JOIN hours b USING (zone, metric, hour) JOIN zones USING (zone)
    WHERE a.feed < b.feed AND a.unit = b.unit
)
SELECT
    zone, day,
    format('{}: hourly means of {} and {} are up to {:.2f} {} apart',
           metric, feed, other_feed, max(abs(price - other_price)), unit) AS detail
FROM pairs JOIN tolerances USING (metric)
GROUP BY zone, day, metric, feed, other_feed, unit, auction, share, amount
HAVING CASE WHEN auction THEN max(abs(price - other_price)) > 0.011
            ELSE avg(abs(price - other_price)) > greatest(amount, share * avg(abs(other_price))) END
