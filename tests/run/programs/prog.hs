-- For haskell.sh: exceptions, the collector, threads, callbacks of libc, a stack that grows and one that may not.
import Control.Concurrent
import Control.Exception
import Control.Monad
import qualified Data.Map.Strict as M
import Data.IORef
import Foreign
import Foreign.C.Types
import System.Environment
import System.IO
import System.Mem

foreign import ccall "wrapper" wrap :: (Ptr CInt -> Ptr CInt -> IO CInt) -> IO (FunPtr (Ptr CInt -> Ptr CInt -> IO CInt))
foreign import ccall "qsort" c_qsort :: Ptr CInt -> CSize -> CSize -> FunPtr (Ptr CInt -> Ptr CInt -> IO CInt) -> IO ()
foreign import ccall "math.h cos" c_cos :: Double -> Double

work :: Int -> IO Int
work n = do
  let m = M.fromListWith (+) [ (k * 7919 `mod` 997, k) | k <- [1 .. n] ]
  performGC
  r <- try (evaluate (n `div` (n - n))) :: IO (Either ArithException Int)
  cmp <- wrap (\a b -> do x <- peek a; y <- peek b; return (fromIntegral (fromEnum (compare x y)) - 1))
  sorted <- withArray (map (\k -> fromIntegral (k * 31 `mod` 101)) [1 .. 200]) $ \p -> do
    c_qsort p 200 4 cmp
    peekArray 200 p
  freeHaskellFunPtr cmp
  done <- newEmptyMVar
  forM_ [1 .. 4] $ \t -> forkIO (evaluate (sum [1 .. t * 1000 :: Int]) >>= putMVar done)
  s <- sum <$> replicateM 4 (takeMVar done)
  let deep = foldr (+) 0 [1 .. 200000 :: Int]
  return (M.foldl' (+) 0 m + either (const 1) id r + fromIntegral (sum (take 9 sorted)) + s + deep + round (1000 * c_cos 1))

main :: IO ()
main = do
  args <- getArgs
  r <- work 20000
  print r
  hFlush stdout
  when (not (null args)) $ do
    stop <- newIORef False
    _ <- forkIO (getLine >> writeIORef stop True)
    let loop = do
          _ <- work 2000 >>= evaluate
          halt <- readIORef stop
          unless halt loop
    loop
    r2 <- work 20000
    putStrLn (if r2 == r then "right" else "wrong")
